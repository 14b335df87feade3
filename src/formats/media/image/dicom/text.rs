//! Characters of texts: the repertoires that *Specific Character Set* names (PS3.3, section C.12.1.1.2).

use encoding_rs::Encoding;

/// How texts of a data set are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Repertoire {
    /// One for each name; without code extensions there is one.
    encodings: Vec<Option<&'static Encoding>>,
}

impl Repertoire {
    /// That of the value of *Specific Character Set*.
    pub(super) fn of(value: &str) -> Self {
        let encodings = value.split('\\').map(|name| encoding(name.trim_matches([' ', '\0']))).collect();
        Repertoire { encodings }
    }

    /// A text. `extended` ones are written in the repertoire, all others in ASCII.
    pub(super) fn decode(&self, bytes: &[u8], extended: bool) -> String {
        let text = match self.encodings.as_slice() {
            [] | [None] => latin(bytes),
            _ if !extended => latin(bytes),
            [Some(encoding)] => encoding.decode_without_bom_handling(bytes).0.into_owned(),
            several => switched(bytes, several),
        };
        text.trim_end_matches([' ', '\0']).to_owned()
    }
}

fn latin(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// The encoding of a defined term; `None` for the default repertoire, which is ASCII.
fn encoding(term: &str) -> Option<&'static Encoding> {
    let term = term.replace("ISO 2022 IR", "ISO_IR").replace("ISO-IR", "ISO_IR");
    Some(match term.as_str() {
        "ISO_IR 100" => encoding_rs::WINDOWS_1252,
        "ISO_IR 101" => encoding_rs::ISO_8859_2,
        "ISO_IR 109" => encoding_rs::ISO_8859_3,
        "ISO_IR 110" => encoding_rs::ISO_8859_4,
        "ISO_IR 144" => encoding_rs::ISO_8859_5,
        "ISO_IR 127" => encoding_rs::ISO_8859_6,
        "ISO_IR 126" => encoding_rs::ISO_8859_7,
        "ISO_IR 138" => encoding_rs::ISO_8859_8,
        "ISO_IR 148" => encoding_rs::WINDOWS_1254,
        "ISO_IR 203" => encoding_rs::ISO_8859_15,
        "ISO_IR 166" => encoding_rs::WINDOWS_874,
        "ISO_IR 13" => encoding_rs::SHIFT_JIS,
        "ISO_IR 87" | "ISO_IR 159" => encoding_rs::ISO_2022_JP,
        "ISO_IR 149" => encoding_rs::EUC_KR,
        "ISO_IR 58" => encoding_rs::GBK,
        "ISO_IR 192" => encoding_rs::UTF_8,
        "GB18030" => encoding_rs::GB18030,
        "GBK" => encoding_rs::GBK,
        _ => return None,
    })
}

/// A text that goes from one repertoire to another by escape sequences (ISO 2022).
fn switched(bytes: &[u8], encodings: &[Option<&'static Encoding>]) -> String {
    let japanese = encodings.contains(&Some(encoding_rs::ISO_2022_JP));
    if japanese && bytes.contains(&0x1b) {
        return encoding_rs::ISO_2022_JP.decode_without_bom_handling(bytes).0.into_owned();
    }
    // Those of Korean and Chinese have the codes of the unescaped encodings behind the sequence.
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == 0x1b {
            let middle = after.iter().take_while(|byte| (0x20..0x30).contains(*byte)).count();
            rest = after.get(middle + 1..).unwrap_or_default();
        } else {
            plain.push(byte);
            rest = after;
        }
    }
    let encoding = encodings.iter().rev().flatten().next().copied().unwrap_or(encoding_rs::WINDOWS_1252);
    encoding.decode_without_bom_handling(&plain).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repertoires_of_the_standards_examples() {
        // PS3.5, annexes H to K.
        let latin = Repertoire::of("ISO_IR 100");
        assert_eq!(latin.decode(b"Buc^J\xe9r\xf4me ", true), "Buc^Jérôme");
        let korean = Repertoire::of("\\ISO 2022 IR 149");
        assert_eq!(
            korean.decode(b"Hong^Gildong=\x1b$)C\xfb\xf3^\x1b$)C\xd1\xce\xd4\xd7", true),
            "Hong^Gildong=洪^吉洞"
        );
        let japanese = Repertoire::of("\\ISO 2022 IR 87");
        assert_eq!(
            japanese.decode(b"Yamada^Tarou=\x1b$B;3ED\x1b(B^\x1b$BB@O:\x1b(B", true),
            "Yamada^Tarou=山田^太郎"
        );
        let chinese = Repertoire::of("GB18030");
        assert_eq!(chinese.decode(b"Wang^XiaoDong=\xcd\xf5^\xd0\xa1\xb6\xab", true), "Wang^XiaoDong=王^小东");
        assert_eq!(Repertoire::of("ISO_IR 192").decode("Ελλάδα".as_bytes(), true), "Ελλάδα");
    }
}
