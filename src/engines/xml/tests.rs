use super::*;
use proptest::prelude::*;

fn parsed(text: &str) -> Xml {
    parse(&Task::new(), text).unwrap()
}

fn json(text: &str) -> String {
    let xml = parsed(text);
    assert!(xml.problem.is_none(), "{:?}", xml.problem);
    xml.root.unwrap().json().to_string()
}

#[test]
fn elements_attributes_texts_and_sections() {
    let text = "<?xml version='1.0'?><!-- ? -->\n<a x='1' n:y=\"&lt;&#233;\"> <b>one</b><b>t&amp;w<![CDATA[<o>]]></b>\n<n:c/>rest</a>";
    assert_eq!(
        json(text),
        "{\"@x\":\"1\",\"@n:y\":\"<é\",\"b\":[\"one\",\"t&w<o>\"],\"n:c\":\"\",\"#text\":\"rest\"}"
    );
    let xml = parsed(text).root.unwrap();
    assert_eq!((xml.line, xml.children[2].line, xml.children[2].local_name()), (2, 3, "c"));
    assert_eq!((xml.text_of("b"), xml.text_of("c"), xml.all("b").count()), (Some("one"), None, 2));
}

#[test]
fn encodings_are_those_of_marks_and_declarations() {
    let text = "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>";
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    assert!(decoded(&latin).contains('é'));
    let wide: Vec<u8> = "\u{feff}<a>é</a>".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(decoded(&wide), "<a>é</a>");
    let bare: Vec<u8> = "<a>é</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(decoded(&bare), "<a>é</a>");
}

#[test]
fn what_is_wrong_has_a_line_and_a_column() {
    let cases = [
        ("<a>\n<b></c>\n</a>", "line 2"),
        ("<a>\n<b>", "ends within"),
        ("", "no element"),
        ("<a/>\n<b/>", "line 2"),
        ("<a/>x", "outside"),
    ];
    for (text, expected) in cases {
        let problem = parsed(text).problem.unwrap().message();
        assert!(problem.contains(expected), "{text}: {problem}");
    }
    let xml = parsed("<a>\n<b>1</b><b></c>");
    assert_eq!(xml.root.unwrap().children[0].text, "1");
    assert!(parsed(&"<a>".repeat(3_000)).problem.unwrap().message().contains("deep"));
}

#[test]
fn entities_are_plain_texts_or_stay() {
    let head =
        "<!DOCTYPE a [<!ENTITY one \"1\"><!ENTITY two \"&one;&one;\"><!ENTITY file SYSTEM \"/etc/passwd\">]>";
    let xml = parsed(&format!("{head}<a b='&one;'>&one;&two;&file;&none;</a>"));
    let root = xml.root.unwrap();
    assert_eq!((root.text.as_str(), root.attribute("b"), xml.kept), ("1&two;&file;&none;", Some("1"), 3));
    let mut bomb = "<!DOCTYPE a [<!ENTITY l0 \"lol\">".to_owned();
    for n in 1..12 {
        bomb.push_str(&format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10)));
    }
    bomb.push_str("]><a>&l11;</a>");
    assert_eq!(parsed(&bomb).root.unwrap().text, "&l11;");
    let long =
        format!("<!DOCTYPE a [<!ENTITY x \"{}\">]><a>{}</a>", "y".repeat(100_000), "&x;".repeat(10_000));
    assert!(parsed(&long).root.unwrap().text.len() < 3 << 20);
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in "[<>/a&;!\\[\\]'\"= \\-\\?x\\n]{0,80}") {
        let _ = parsed(&text);
        let _ = decoded(text.as_bytes());
    }
}
