//! ICC profiles (ISO 15076-1): what they say of themselves; and Adobe's resources of pictures, in which IPTC stands.

use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::numbers::be;
use crate::data::adapt::{profile_name, profile_text};
use crate::data::node::Node;
use bytes::Bytes;
use moxcms::ColorProfile;

/// Where a profile has four characters that name something (ISO 15076-1, 7.2).
const SIGNATURES: [(usize, &str); 6] = [
    (4, "preferred CMM"),
    (12, "class"),
    (16, "colour space"),
    (20, "connection space"),
    (40, "platform"),
    (48, "device manufacturer"),
];

/// What the profile is called; its colour space where it has no name.
pub fn description(profile: &[u8]) -> Option<String> {
    profile_name(profile).or_else(|| signature(profile, 16).map(|space| format!("of {space}")))
}

fn signature(profile: &[u8], at: usize) -> Option<String> {
    let bytes = profile.get(at..at + 4)?;
    let word: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let is_word = word.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    Some(word.trim().to_owned()).filter(|word| is_word && !word.is_empty())
}

/// What it says of itself, as attributes.
pub(super) fn node(block: &Bytes) -> Result<Node> {
    if block.get(36..40) != Some(b"acsp") {
        return Err(Error::malformed("ICC profile: it has no signature of a profile").at(36));
    }
    let mut node = Node::new("ICC profile", "profile");
    let parsed = catch_decoder_panic("the profile", || {
        ColorProfile::new_from_slice(block)
            .map_err(|error| Error::malformed(format!("ICC profile: its tags cannot be read: {error}")))
    });
    let texts: Vec<(&str, String)> = match parsed {
        Ok(profile) => {
            let named = [
                ("description", profile.description),
                ("manufacturer", profile.device_manufacturer),
                ("model", profile.device_model),
                ("viewing conditions", profile.viewing_conditions_description),
                ("copyright", profile.copyright),
            ];
            named
                .into_iter()
                .filter_map(|(name, found)| Some((name, profile_text(found.as_ref()?)?)))
                .collect()
        }
        Err(error) => {
            node.problem = Some(error);
            Vec::new()
        }
    };
    for (name, text) in texts {
        node = node.attribute(name, text);
    }
    if let Some(&[major, minor, ..]) = block.get(8..12) {
        node = node.attribute("version", format!("{major}.{}.{}", minor >> 4, minor & 15));
    }
    for (at, name) in SIGNATURES {
        if let Some(word) = signature(block, at) {
            node = node.attribute(name, word);
        }
    }
    let part = |at: usize| be::<u16>(block, at).unwrap_or(0);
    if part(24) > 0 {
        let (year, month, day) = (part(24), part(26), part(28));
        let (hour, minute, second) = (part(30), part(32), part(34));
        let time = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        node = node.attribute("created", time);
    }
    let intents = ["perceptual", "relative colorimetric", "saturation", "absolute colorimetric"];
    let intent = be::<u32>(block, 64).and_then(|n| intents.get(n as usize));
    node = node.attribute("rendering intent", intent.copied().unwrap_or("unknown"));
    let tags = be::<u32>(block, 128).unwrap_or(0).min(256) as usize;
    let words = (0..tags).filter_map(|n| signature(block, 132 + n * 12));
    Ok(node.attribute("tags", words.collect::<Vec<_>>().join(", ")))
}

/// The IPTC block among Adobe's resources of a picture (`8BIM`, number 0x0404); `None` where there is none.
pub fn photoshop(mut rest: &[u8]) -> Option<&[u8]> {
    while rest.starts_with(b"8BIM") {
        let number = be::<u16>(rest, 4)?;
        // A name of Pascal, filled up to an even length with its length byte.
        let name = usize::from(*rest.get(6)?) + 1;
        let at = 6 + name + name % 2;
        let len = be::<u32>(rest, at)? as usize;
        let body = rest.get(at + 4..)?;
        if number == 0x0404 {
            return Some(body.get(..len).unwrap_or(body)).filter(|body| !body.is_empty());
        }
        rest = body.get(len.checked_add(len % 2)?..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_say_what_they_are() {
        let profile = Bytes::from(ColorProfile::new_display_p3().encode().unwrap());
        assert_eq!(description(&profile).as_deref(), Some("Display P3"));
        let node = node(&profile).unwrap();
        let said =
            |name: &str| node.attributes.iter().any(|(known, value)| known == name && *value == "RGB".into());
        assert!(said("colour space"), "{:?}", node.attributes);
        assert!(super::node(&Bytes::from_static(b"no profile")).is_err());
    }

    #[test]
    fn iptc_is_found_among_resources() {
        let block = b"8BIM\x03\xed\0\0\0\0\0\x03abc\08BIM\x04\x04\x01x\0\0\0\x05\x1c\x02\x05\0\0\0";
        assert_eq!(photoshop(block), Some(&b"\x1c\x02\x05\0\0"[..]));
        assert_eq!(photoshop(b"8BIM\x04"), None);
    }
}
