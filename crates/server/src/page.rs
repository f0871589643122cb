//! The page: built into the program, or beside it in its own checkout, or only a word of how to get it.
//!
//! Its files hold nothing that is not public: what it shows it asks for with the credential of the one who looks.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::access::secrets;

mod files {
    include!(concat!(env!("OUT_DIR"), "/page_files.rs"));
}

const INDEX: &str = "index.html";
const PLACEHOLDER: &str = include_str!("../page/placeholder.html");

/// Where the page comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    Embedded,
    /// In this folder.
    Disk(PathBuf),
    Placeholder,
}

impl Page {
    /// What this program has. A page in its own checkout counts where none was built in.
    pub fn find(program: &Path) -> Page {
        match (files::FILES.is_empty(), checkout(program)) {
            (false, _) => Page::Embedded,
            (true, Some(checkout)) if checkout.join("web/dist").join(INDEX).is_file() => {
                Page::Disk(checkout.join("web/dist"))
            }
            _ => Page::Placeholder,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Page::Embedded => "embedded",
            Page::Disk(_) => "disk",
            Page::Placeholder => "placeholder",
        }
    }

    fn read(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Page::Embedded => {
                let found = files::FILES.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
                Some(Cow::Borrowed(files::FILES[found].1))
            }
            // Only names that the build makes: no way leads out of the folder.
            Page::Disk(folder) if name.split('/').all(is_plain) => {
                std::fs::read(folder.join(name)).ok().map(Cow::Owned)
            }
            Page::Disk(_) | Page::Placeholder => None,
        }
    }
}

fn is_plain(part: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !part.is_empty() && !part.starts_with('.') && part.chars().all(is_allowed)
}

/// The checkout that a program was built in, where it still lies in its `target`.
pub fn checkout(program: &Path) -> Option<PathBuf> {
    let target =
        program.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "target"))?;
    let root = target.parent()?;
    root.join("web/package.json").is_file().then(|| root.to_owned())
}

/// A file of the page by its address; its frame for every address that is not a file.
pub(crate) fn answer(page: &Page, path: &str, headers: &HeaderMap) -> Response {
    let name = path.trim_start_matches('/');
    if *page == Page::Placeholder {
        return html(PLACEHOLDER.as_bytes().into());
    }
    if name.contains('.') || name.starts_with("assets/") {
        return file(page, name, headers).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response());
    }
    file(page, INDEX, headers).unwrap_or_else(|| html(PLACEHOLDER.as_bytes().into()))
}

fn html(text: Cow<'static, [u8]>) -> Response {
    (
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")],
        Body::from(text.into_owned()),
    )
        .into_response()
}

/// Packed as small as the caller takes it. Names of assets change with what is in them: these are kept for ever.
fn file(page: &Page, name: &str, headers: &HeaderMap) -> Option<Response> {
    let takes = |kind: &str| {
        let accepts =
            headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        accepts.split(',').any(|one| one.split(';').next().is_some_and(|name| name.trim() == kind))
    };
    let packed = [("br", ".br"), ("gzip", ".gz")]
        .into_iter()
        .filter(|(kind, _)| takes(kind))
        .find_map(|(kind, ending)| Some((Some(kind), page.read(&format!("{name}{ending}"))?)));
    let (encoding, bytes) = match packed {
        Some(packed) => packed,
        None => (None, page.read(name)?),
    };
    let caching = match name.starts_with("assets/") {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let tag = format!("\"{}\"", &secrets::hash_bytes(&bytes)[..16]);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Some(StatusCode::NOT_MODIFIED.into_response());
    }
    let mut response = Body::from(bytes.into_owned()).into_response();
    let own = response.headers_mut();
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static(media(name)));
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    own.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    own.extend(HeaderValue::from_str(&tag).ok().map(|tag| (header::ETAG, tag)));
    own.extend(encoding.map(|kind| (header::CONTENT_ENCODING, HeaderValue::from_static(kind))));
    Some(response)
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "webmanifest") => "application/json",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let dist = folder.path().join("dist");
        std::fs::create_dir_all(dist.join("assets")).unwrap();
        std::fs::write(folder.path().join("secret.txt"), "canary").unwrap();
        std::fs::write(dist.join(INDEX), "<title>page</title>").unwrap();
        std::fs::write(dist.join("assets/a-1.js"), "1").unwrap();
        let page = Page::Disk(dist);
        let status = |path: &str| answer(&page, path, &HeaderMap::new()).status().as_u16();
        assert_eq!((status("/"), status("/runs/otter/tasks"), status("/assets/a-1.js")), (200, 200, 200));
        for path in [
            "/../secret.txt",
            "/assets/../../secret.txt",
            "/assets/..%2f..%2fsecret.txt",
            "/assets/none.js",
            "/.hidden",
        ] {
            assert_eq!(status(path), 404, "{path}");
        }
    }

    #[test]
    fn without_a_page_every_address_says_how_to_get_one() {
        for path in ["/", "/runs/otter", "/assets/a-1.js"] {
            let answered = answer(&Page::Placeholder, path, &HeaderMap::new());
            assert_eq!(answered.status(), 200, "{path}");
            assert_eq!(answered.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        }
        assert!(PLACEHOLDER.contains("cargo xtask web"));
    }

    #[test]
    fn a_checkout_is_known_by_its_target() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("web")).unwrap();
        std::fs::write(folder.path().join("web/package.json"), "{}").unwrap();
        let program = folder.path().join("target/release/conductor");
        assert_eq!(checkout(&program).as_deref(), Some(folder.path()));
        assert_eq!(checkout(Path::new("/usr/bin/conductor")), None);
    }
}
