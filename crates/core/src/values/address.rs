//! Whether two addresses of git remotes name the same place. Paths are to be real ones when they come here.

/// An address without what does not tell places apart: scheme, user, password, usual port, `.git`, slashes at the end, the
/// case of the host.
fn canonical(address: &str) -> String {
    let address = address.trim();
    let (host, path) = match address.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => ("", rest),
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            (without_usual_port(scheme, host), path)
        }
        None => match address.split_once(':') {
            // As ssh has it, unless a slash comes first: then it is a path with a colon in it.
            Some((host, path)) if !host.contains('/') && !host.is_empty() => (host, path),
            _ => ("", address),
        },
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_ascii_lowercase();
    let path = path.trim_matches('/');
    let path = without_end(path).trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("{host}/{}", parts.join("/"))
}

fn without_usual_port<'a>(scheme: &str, host: &'a str) -> &'a str {
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "ssh" | "git+ssh" | "ssh+git" => ":22",
        "https" => ":443",
        "http" => ":80",
        "git" => ":9418",
        _ => return host,
    };
    host.strip_suffix(usual).unwrap_or(host)
}

/// As a git directory ends, in whatever case: forges do not look at it.
fn without_end(path: &str) -> &str {
    const END: &str = ".git";
    match path.len().checked_sub(END.len()).and_then(|at| path.split_at_checked(at)) {
        Some((rest, end)) if end.eq_ignore_ascii_case(END) => rest,
        _ => path,
    }
}

/// Whether both could be one place. Forges know a repository by its name in any case, so that of a path on another machine does
/// not tell them apart; that of one on this machine does.
pub fn is_same_place(one: &str, other: &str) -> bool {
    let (one, other) = (canonical(one), canonical(other));
    let is_here = |place: &str| place.starts_with('/');
    match is_here(&one) || is_here(&other) {
        true => one == other,
        false => one.to_lowercase() == other.to_lowercase(),
    }
}

/// An address as it may be shown: without a password.
pub fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = match host.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}@{host}"),
            // A token in place of a name is as secret as a password.
            None if scheme.eq_ignore_ascii_case("ssh") => format!("{user}@{host}"),
            None => host.to_owned(),
        },
        None => host.to_owned(),
    };
    path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
}

/// What an address has of a secret: a password, or a token in place of a name.
pub fn password_in(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    match user.split_once(':') {
        Some((_, password)) => Some(password),
        None => (!scheme.eq_ignore_ascii_case("ssh")).then_some(user),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_in_other_words_is_the_same() {
        let all = [
            "https://github.com/owner/name",
            "https://github.com/owner/name.git",
            "https://GitHub.com:443/owner/name.git/",
            "https://user:password@github.com/owner/name",
            "git@github.com:owner/name.git",
            "github.com:owner/name",
            "ssh://git@github.com/owner/name.git",
            "ssh://git@github.com:22/owner//name",
            "git+ssh://git@github.com/owner/name",
            "https://github.com/Owner/name",
            "git@github.com:OWNER/Name.Git/",
        ];
        for one in all {
            assert!(is_same_place(all[0], one), "{one}: {}", canonical(one));
        }
        for (one, other) in
            [("/srv/git/a.git", "file:///srv/git/a"), ("/srv/git/a/", "/srv/git/a"), ("/a/b:c", "/a/./b:c")]
        {
            assert!(is_same_place(one, other), "{one} {other}");
        }
    }

    #[test]
    fn other_places_are_others() {
        for (one, other) in [
            ("https://github.com/owner/name", "https://github.com/owner/other"),
            ("https://github.com/owner/name", "https://example.com/owner/name"),
            ("ssh://git@h:2222/r", "ssh://git@h/r"),
            ("/srv/git/a", "/srv/git/b"),
            ("/srv/git/A", "/srv/git/a"),
        ] {
            assert!(!is_same_place(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_shown_has_no_password() {
        assert_eq!(shown("https://user:secret@h/r"), "https://user@h/r");
        assert_eq!(shown("https://token@h/r"), "https://h/r");
        assert_eq!(shown("ssh://git@h/r"), "ssh://git@h/r");
        assert_eq!(shown("git@h:r"), "git@h:r");
        assert_eq!(shown("/srv/a"), "/srv/a");
        assert_eq!(password_in("https://user:secret@h/r"), Some("secret"));
        assert_eq!(password_in("https://token@h/r"), Some("token"));
        assert_eq!((password_in("ssh://git@h/r"), password_in("git@h:r")), (None, None));
    }
}
