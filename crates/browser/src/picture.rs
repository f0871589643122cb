//! A picture as text for a terminal: two points of the picture in each character, an upper and a lower one.

use std::io::Cursor;

use thiserror::Error;

#[derive(Debug, Error)]
#[error("the picture cannot be read: {0}")]
pub struct PictureError(String);

/// The signs from dark to light, for terminals without colours.
const SHADES: &[u8] = b" .:-=+*#%@";

/// A character is about twice as high as it is wide.
const SHAPE: usize = 2;

/// The picture in so many columns, in shades of characters.
pub fn as_text(png: &[u8], columns: usize) -> Result<String, PictureError> {
    let image = Image::read(png)?;
    let columns = columns.clamp(1, image.width.max(1));
    let rows = (image.height * columns / image.width.max(1) / SHAPE).max(1);
    let mut text = String::with_capacity(rows * (columns + 1));
    for row in 0..rows {
        for column in 0..columns {
            let light = image.light((column, columns), (row, rows));
            let shade = SHADES[light * (SHADES.len() - 1) / 255];
            text.push(char::from(shade));
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    Ok(text)
}

struct Image {
    width: usize,
    height: usize,
    channels: usize,
    points: Vec<u8>,
}

impl Image {
    fn read(png: &[u8]) -> Result<Image, PictureError> {
        let said = |error: &dyn std::fmt::Display| PictureError(error.to_string());
        let mut decoder = png::Decoder::new(Cursor::new(png));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(|error| said(&error))?;
        let size = reader.output_buffer_size().ok_or_else(|| PictureError("it is too large".to_owned()))?;
        let mut points = vec![0; size];
        let info = reader.next_frame(&mut points).map_err(|error| said(&error))?;
        let (width, height) = (info.width as usize, info.height as usize);
        Ok(Image { width, height, channels: info.color_type.samples(), points })
    }

    /// The mean light of one part of the picture, 0 to 255; dark pages and light ones alike show what stands out.
    fn light(&self, (column, columns): (usize, usize), (row, rows): (usize, usize)) -> usize {
        let (left, right) = (column * self.width / columns, (column + 1) * self.width / columns);
        let (top, bottom) = (row * self.height / rows, (row + 1) * self.height / rows);
        let (mut sum, mut count) = (0, 0);
        for y in top..bottom.max(top + 1).min(self.height) {
            for x in left..right.max(left + 1).min(self.width) {
                sum += self.point(x, y);
                count += 1;
            }
        }
        sum / count.max(1)
    }

    fn point(&self, x: usize, y: usize) -> usize {
        let at = (y * self.width + x) * self.channels;
        let part = |n: usize| self.points.get(at + n).copied().map_or(0, usize::from);
        match self.channels {
            1 | 2 => part(0),
            // As the eye weighs them.
            _ => (part(0) * 299 + part(1) * 587 + part(2) * 114) / 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32, light: impl Fn(u32, u32) -> u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Grayscale);
        let points: Vec<u8> =
            (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| light(x, y)).collect();
        encoder.write_header().unwrap().write_image_data(&points).unwrap();
        bytes
    }

    #[test]
    fn light_and_dark_become_signs() {
        let halves = picture(8, 8, |x, _| if x < 4 { 255 } else { 0 });
        assert_eq!(as_text(&halves, 4).unwrap(), "@@\n@@\n");
        let all = picture(8, 8, |_, _| 255);
        assert_eq!(as_text(&all, 8).unwrap(), "@@@@@@@@\n".repeat(4));
    }

    #[test]
    fn what_is_no_picture_is_said_to_be_none() {
        assert!(as_text(b"hello", 80).unwrap_err().to_string().contains("cannot be read"));
        assert!(as_text(&picture(1, 1, |_, _| 0), 500).is_ok());
    }
}
