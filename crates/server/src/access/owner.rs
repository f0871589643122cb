//! The owner's token: a user who can read the file may do everything.

use std::fs;
use std::io;
use std::path::PathBuf;

use conductor_engine::host::access;
use conductor_engine::host::home::Home;

use super::secrets;
use crate::turns;

/// Where the server keeps its own.
pub fn folder(home: &Home) -> PathBuf {
    home.root().join("server")
}

pub fn file(home: &Home) -> PathBuf {
    folder(home).join("owner-token")
}

/// The token, made where there is none.
pub(crate) fn token(home: &Home) -> io::Result<String> {
    let path = file(home);
    access::create_private_dir_all(&folder(home))?;
    // Of two servers that start in a new home, one makes it.
    let _turn = turns::lock(&folder(home).join("owner-token.lock"))?;
    match fs::read_to_string(&path) {
        Ok(token) if token.trim().len() >= 32 => return Ok(token.trim().to_owned()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let token = secrets::random("cdo_")?;
    access::replace(&path, format!("{token}\n"))?;
    Ok(token)
}
