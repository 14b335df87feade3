//! Pages of HTML that stand alone, with tables in them: what is around them, and texts that are nothing but texts.

/// What a page begins with: a title and a style come next.
pub const BEGIN: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
/// What it ends with.
pub const END: &str = "</body>\n</html>\n";

/// How tables look, in light and dark: numbers (`n`) at the right, nulls (`null`) dim.
pub fn style() -> String {
    let rules = [
        ":root{color-scheme:light dark}",
        "body{font:14px/1.4 system-ui,sans-serif;margin:1.5em}",
        "table{border-collapse:collapse;margin-bottom:2em}",
        "caption{text-align:left;font-weight:600;padding-bottom:.5em}",
        "th,td{border:1px solid #8886;padding:.25em .6em;text-align:left;vertical-align:top;white-space:pre-wrap}",
        "thead th{position:sticky;top:0;background:Canvas}",
        ".n{text-align:right;font-variant-numeric:tabular-nums}",
        ".null{color:#888}",
    ];
    format!("<style>\n{}\n</style>\n", rules.join("\n"))
}

/// Appends a text for the inside of an element or between double quotes. Characters that HTML has not become U+FFFD.
pub fn escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // A parser would make a line end of it.
            '\r' => out.push_str("&#13;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        let mut out = String::new();
        escaped("<a href=\"x\">&amp;\r\u{0}é</a>", &mut out);
        assert_eq!(out, "&lt;a href=&quot;x&quot;&gt;&amp;amp;&#13;\u{fffd}é&lt;/a&gt;");
    }
}
