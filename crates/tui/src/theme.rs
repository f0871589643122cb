//! How tones look: five themes, on terminals of every colour depth and of none.

use ratatui_core::style::{Color, Modifier, Style};

use crate::data::state::State;
use crate::data::text::Tone;

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    None,
    Sixteen,
    Indexed,
    True,
}

impl Depth {
    /// As the user's environment has it. `colored`: whether colours are wanted at all.
    pub(crate) fn of_environment(colored: bool) -> Depth {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        Depth::of(colored && variable("NO_COLOR").is_empty(), &variable("COLORTERM"), &variable("TERM"))
    }

    fn of(colored: bool, colorterm: &str, term: &str) -> Depth {
        match colored {
            false => Depth::None,
            true if matches!(colorterm, "truecolor" | "24bit") => Depth::True,
            true if term.contains("256color") || term.contains("direct") => Depth::Indexed,
            true => Depth::Sixteen,
        }
    }
}

/// Colours by what they are for. Where nothing is said, the terminal's own count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Palette {
    paper: Option<u32>,
    ink: Option<u32>,
    grey: u32,
    blue: u32,
    amber: u32,
    green: u32,
    red: u32,
    purple: u32,
    accent: u32,
    /// Behind what is selected.
    hover: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    name: &'static str,
    palette: Option<Palette>,
    depth: Depth,
}

/// In the order in which a key goes through them.
pub(crate) const NAMES: [&str; 5] = ["default", "cyberpunk", "minimal", "solarized-dark", "dracula"];

const CYBERPUNK: Palette = Palette {
    paper: Some(0x0d_02_21),
    ink: Some(0xd7_f9_ff),
    grey: 0x7a_77_a8,
    blue: 0x00_e5_ff,
    amber: 0xff_d3_00,
    green: 0x39_ff_88,
    red: 0xff_4d_6d,
    purple: 0xd0_7c_ff,
    accent: 0xff_2e_97,
    hover: 0x2a_0f_4a,
};

const SOLARIZED: Palette = Palette {
    paper: Some(0x00_2b_36),
    ink: Some(0x9f_b0_b1),
    grey: 0x7d_90_96,
    blue: 0x4a_a7_ec,
    amber: 0xd3_a3_1c,
    green: 0x9c_b0_12,
    red: 0xff_6b_65,
    purple: 0x9a_9f_e8,
    accent: 0x3f_b8_ae,
    hover: 0x0b_40_4e,
};

const DRACULA: Palette = Palette {
    paper: Some(0x28_2a_36),
    ink: Some(0xf8_f8_f2),
    grey: 0x8f_9c_c9,
    blue: 0x8b_e9_fd,
    amber: 0xf1_fa_8c,
    green: 0x50_fa_7b,
    red: 0xff_7a_7a,
    purple: 0xbd_93_f9,
    accent: 0xff_79_c6,
    hover: 0x44_47_5a,
};

impl Theme {
    /// The first of all where there is none of that name.
    pub(crate) fn named(name: &str, depth: Depth) -> Theme {
        let name = NAMES.iter().copied().find(|known| *known == name).unwrap_or(NAMES[0]);
        let palette = match name {
            "cyberpunk" => Some(CYBERPUNK),
            "solarized-dark" => Some(SOLARIZED),
            "dracula" => Some(DRACULA),
            _ => None,
        };
        Theme { name, palette, depth }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn depth(&self) -> Depth {
        self.depth
    }

    pub(crate) fn next(&self) -> Theme {
        let at = NAMES.iter().position(|name| *name == self.name).unwrap_or(0);
        Theme::named(NAMES[(at + 1) % NAMES.len()], self.depth)
    }

    /// Of everything that nothing else is said of.
    pub(crate) fn base(&self) -> Style {
        let Some(palette) = self.palette.filter(|_| self.depth != Depth::None) else { return Style::new() };
        let mut style = Style::new();
        // Sixteen colours are the terminal's own: its paper fits them best.
        if self.depth != Depth::Sixteen {
            style.bg = palette.paper.map(|paper| self.shown(paper));
            style.fg = palette.ink.map(|ink| self.shown(ink));
        }
        style
    }

    pub(crate) fn style(&self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Dim => self.colored(|palette| palette.grey, Color::DarkGray).add_modifier(self.faint()),
            Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
            Tone::Accent => self.colored(|palette| palette.accent, Color::Cyan).add_modifier(Modifier::BOLD),
            Tone::State(state) => self.state(state),
            Tone::Added => self.colored(|palette| palette.green, Color::Green),
            Tone::Removed => self.colored(|palette| palette.red, Color::Red),
        }
    }

    fn state(&self, state: State) -> Style {
        match state {
            State::Pending | State::Waiting => self.style(Tone::Dim),
            State::Skipped | State::Cancelled => self.style(Tone::Dim).add_modifier(Modifier::CROSSED_OUT),
            State::Running => self.colored(|palette| palette.blue, Color::Blue),
            State::NeedsYou => {
                self.colored(|palette| palette.amber, Color::Yellow).add_modifier(Modifier::BOLD)
            }
            State::Landed | State::Completed => self.colored(|palette| palette.green, Color::Green),
            State::Failed => self.colored(|palette| palette.red, Color::Red).add_modifier(Modifier::BOLD),
            State::Conflict => self.colored(|palette| palette.purple, Color::Magenta),
        }
    }

    /// What is selected; without colours it is reversed.
    pub(crate) fn selected(&self) -> Style {
        match (self.palette, self.depth) {
            (Some(palette), Depth::True | Depth::Indexed) => {
                Style::new().bg(self.shown(palette.hover)).add_modifier(Modifier::BOLD)
            }
            _ => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    pub(crate) fn border(&self, has_focus: bool) -> Style {
        if has_focus { self.style(Tone::Accent) } else { self.style(Tone::Dim) }
    }

    /// Grey text that is not grey where there are no colours.
    fn faint(&self) -> Modifier {
        if self.is_plain() { Modifier::DIM } else { Modifier::empty() }
    }

    fn is_plain(&self) -> bool {
        self.depth == Depth::None || self.name == "minimal"
    }

    /// A colour of the theme, or the terminal's own of that name.
    fn colored(&self, of: impl Fn(&Palette) -> u32, own: Color) -> Style {
        match &self.palette {
            _ if self.is_plain() => Style::new(),
            Some(palette) if self.depth != Depth::Sixteen => Style::new().fg(self.shown(of(palette))),
            _ => Style::new().fg(own),
        }
    }

    fn shown(&self, rgb: u32) -> Color {
        let [_, red, green, blue] = rgb.to_be_bytes();
        match self.depth {
            Depth::True => Color::Rgb(red, green, blue),
            _ => Color::Indexed(indexed(red, green, blue)),
        }
    }
}

/// The nearest of the 6 × 6 × 6 colours or of the 24 greys that terminals with 256 colours have.
fn indexed(red: u8, green: u8, blue: u8) -> u8 {
    const STEPS: [i32; 6] = [0, 95, 135, 175, 215, 255];
    let rgb = [red, green, blue].map(i32::from);
    let distance = |other: [i32; 3]| rgb.iter().zip(other).map(|(one, two)| (one - two).pow(2)).sum::<i32>();
    let nearest = rgb.map(|part| (0..6).min_by_key(|&at| (STEPS[at] - part).abs()).unwrap_or(0));
    let cube = nearest.map(|at| STEPS[at]);
    let grey = ((rgb.iter().sum::<i32>() / 3 - 8 + 5) / 10).clamp(0, 23);
    match distance([8 + grey * 10; 3]) < distance(cube) {
        true => 232 + grey as u8,
        false => 16 + (nearest[0] * 36 + nearest[1] * 6 + nearest[2]) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_many_colours_there_are() {
        assert_eq!(Depth::of(false, "truecolor", "xterm-256color"), Depth::None);
        assert_eq!(Depth::of(true, "truecolor", "xterm"), Depth::True);
        assert_eq!(Depth::of(true, "", "xterm-256color"), Depth::Indexed);
        assert_eq!(Depth::of(true, "", "xterm"), Depth::Sixteen);
    }

    #[test]
    fn the_nearest_of_256_colours_is_taken() {
        assert_eq!(indexed(0, 0, 0), 16);
        assert_eq!(indexed(255, 255, 255), 231);
        assert_eq!(indexed(255, 0, 0), 196);
        assert_eq!(indexed(128, 128, 128), 244);
    }

    /// The glyph and the word carry everything then.
    #[test]
    fn without_colours_no_theme_has_any() {
        for name in NAMES {
            let theme = Theme::named(name, Depth::None);
            let mut styles: Vec<Style> =
                State::ALL.iter().map(|state| theme.style(Tone::State(*state))).collect();
            styles.extend([theme.base(), theme.selected(), theme.border(true), theme.style(Tone::Added)]);
            assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()), "{name}");
        }
    }

    /// As far as the eye needs it for text, by the formula of the Web Content Accessibility Guidelines.
    #[test]
    fn every_colour_of_a_theme_stands_out_from_its_paper() {
        let light = |rgb: u32| {
            let [_, red, green, blue] = rgb.to_be_bytes();
            let part = |part: u8| match f64::from(part) / 255.0 {
                low if low <= 0.040_45 => low / 12.92,
                high => ((high + 0.055) / 1.055).powf(2.4),
            };
            0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue)
        };
        for (name, palette) in [("cyberpunk", CYBERPUNK), ("solarized-dark", SOLARIZED), ("dracula", DRACULA)]
        {
            let paper = light(palette.paper.unwrap());
            let Palette { grey, blue, amber, green, red, purple, accent, .. } = palette;
            for color in [palette.ink.unwrap(), grey, blue, amber, green, red, purple, accent] {
                let contrast = (light(color) + 0.05) / (paper + 0.05);
                assert!(contrast >= 4.5, "{name}: {color:06x} has {contrast:.2}");
            }
        }
    }

    #[test]
    fn a_key_goes_through_all_of_them_and_back_to_the_first() {
        let mut theme = Theme::named("default", Depth::True);
        let seen: Vec<&str> = (0..5)
            .map(|_| {
                theme = theme.next();
                theme.name()
            })
            .collect();
        assert_eq!(seen, ["cyberpunk", "minimal", "solarized-dark", "dracula", "default"]);
        assert_eq!(Theme::named("no such theme", Depth::True).name(), "default");
    }
}
