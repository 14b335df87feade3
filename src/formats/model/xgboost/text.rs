//! JSON as it is gone through once from the front: members by name, values stepped over. The trees of a large model follow
//! each other, so that no index of all brackets is needed.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::json::token;
use crate::engines::records::Window;
use serde_json::Value;

/// Bytes that are looked at together.
const PIECE: usize = 64 << 10;
/// The longest name of a member.
const NAME: usize = 16 << 10;

fn ends(at: u64) -> Error {
    Error::malformed("JSON: the text ends inside a value; it may be cut off").at(at)
}

/// Behind white space and a comma.
pub(super) fn space(window: &mut Window, mut at: u64) -> Result<u64> {
    loop {
        let piece = window.get(at, 256)?;
        let blank = |byte: &u8| token::is_space(*byte) || *byte == b',';
        match piece.iter().position(|byte| !blank(byte)) {
            Some(place) => return Ok(at + place as u64),
            None if piece.is_empty() => return Ok(at),
            None => at += piece.len() as u64,
        }
    }
}

/// The byte at `at`.
pub(super) fn peek(window: &mut Window, at: u64) -> Result<Option<u8>> {
    Ok(window.get(at, 1)?.first().copied())
}

/// The name of the next member of an object, whose value then begins at `at`; `None` at the end of the object, which `at`
/// is moved behind.
pub(super) fn member(window: &mut Window, at: &mut u64) -> Result<Option<String>> {
    *at = space(window, *at)?;
    let piece = window.get(*at, NAME)?;
    match piece.first() {
        Some(b'}') => {
            *at += 1;
            return Ok(None);
        }
        Some(b'"') => {}
        Some(_) => return Err(Error::malformed("JSON: a name in quotes is expected").at(*at)),
        None => return Err(ends(*at)),
    }
    let end = token::string(piece).ok_or_else(|| ends(*at))?;
    let name = token::unescape(piece.get(1..end.saturating_sub(1)).unwrap_or_default()).0.into_owned();
    *at = space(window, *at + end as u64)?;
    if peek(window, *at)? != Some(b':') {
        return Err(Error::malformed("JSON: ':' is expected behind a name").at(*at));
    }
    *at = space(window, *at + 1)?;
    Ok(Some(name))
}

/// Where the value ends that begins at `at`.
pub(super) fn skip(window: &mut Window, mut at: u64) -> Result<u64> {
    let from = at;
    let (mut depth, mut quoted, mut escaped) = (0u64, false, false);
    loop {
        window.task.check()?;
        let piece = window.get(at, PIECE)?;
        for (n, byte) in piece.iter().enumerate() {
            let here = at + n as u64;
            if quoted {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => {
                        quoted = false;
                        if depth == 0 {
                            return Ok(here + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => quoted = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return Ok(here),
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(here + 1);
                    }
                }
                b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 && here > from => return Ok(here),
                _ => {}
            }
        }
        if piece.is_empty() {
            return Err(ends(at));
        }
        at += piece.len() as u64;
    }
}

/// The value at `at`, and where it ends.
pub(super) fn value(window: &mut Window, at: u64) -> Result<(Value, u64)> {
    let end = skip(window, at)?;
    limits::check(end - at, limits::HEADER, "a value in JSON")?;
    let bytes = window.source.read(window.task, at..end)?;
    let wrong = |error| Error::malformed(format!("JSON: {error}")).at(at);
    Ok((serde_json::from_slice(&bytes).map_err(wrong)?, end))
}
