use super::*;
use proptest::prelude::*;

fn loaded(text: &str) -> (Yaml, Option<String>) {
    let (yaml, problem) = Yaml::load(&Task::new(), text).unwrap();
    (yaml, problem.map(|problem| problem.message()))
}

fn json(text: &str) -> String {
    let (yaml, problem) = loaded(text);
    assert_eq!(problem, None, "{text}");
    let all: Vec<String> =
        yaml.documents.iter().map(|place| yaml.json(*place, 10_000).unwrap().to_string()).collect();
    all.join(" | ")
}

/// What PyYAML's `safe_load_all` gives.
#[test]
fn scalars_are_those_of_pyyaml() {
    let cases = [
        ("[yes, No, on, y, true, TRUE, tRUE]", r#"[true,false,true,"y",true,true,"tRUE"]"#),
        ("[~, null, Null, '', nil]", r#"[null,null,null,"","nil"]"#),
        (
            "[12, -7, +3, 010, 0o10, 0x1F, 0b101, 1_000, 190:20:30, 08]",
            r#"[12,-7,3,8,"0o10",31,5,1000,685230,"08"]"#,
        ),
        (
            "[1.5, -2., .5, 1e3, 1.0e+3, 1.0e3, 190:20:30.15]",
            r#"[1.5,-2.0,0.5,"1e3",1000.0,"1.0e3",685230.15]"#,
        ),
        ("[.inf, -.Inf, .nan, 'inf']", r#"["inf","-inf","nan","inf"]"#),
        (
            "[2024-01-31, 2001-12-14t21:59:43.10-05:00, '2024-01-31']",
            r#"["2024-01-31","2001-12-14t21:59:43.10-05:00","2024-01-31"]"#,
        ),
        ("[!!str 12, !!float 3, !!int '4', !custom 5]", r#"["12",3.0,4,"5"]"#),
    ];
    for (text, expected) in cases {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn documents_anchors_merges_and_blocks() {
    assert_eq!(json("--- 1\n--- [2]\n...\n---\na: b\n"), r#"1 | [2] | {"a":"b"}"#);
    let merged =
        "base: &b {x: 1, y: 2}\nmore: &m {z: 3}\none: {<<: *b, y: 5}\nall:\n  <<: [*b, *m]\n  w: 0\n";
    let expected =
        r#"{"base":{"x":1,"y":2},"more":{"z":3},"one":{"y":5,"x":1},"all":{"w":0,"x":1,"y":2,"z":3}}"#;
    assert_eq!(json(merged), expected);
    let blocks =
        "a: |\n  one\n   two\nb: >-\n  one\n  two\n\n  three\nc: 'it''s' # a comment\nd: \"\\x41\\n\"\n";
    assert_eq!(json(blocks), r#"{"a":"one\n two\n","b":"one two\nthree","c":"it's","d":"A\n"}"#);
}

#[test]
fn what_is_wrong_has_a_line_and_a_column() {
    let (yaml, problem) = loaded("a: 1\nb: [1, 2\nc: 3\n");
    assert!(
        problem.as_deref().is_some_and(|text| text.contains("line ") && text.contains("column ")),
        "{problem:?}"
    );
    assert!(!yaml.is_empty());
    assert!(loaded("a: *nothing\n").1.is_some());
}

#[test]
fn aliases_of_aliases_take_no_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let before = n - 1;
        text.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{before}"); 9].join(", ")));
    }
    let (yaml, problem) = loaded(&text);
    assert!(problem.is_none() && yaml.len() < 200 && yaml.is_larger_than(1_000_000));
    assert!(yaml.json(yaml.documents[0], 1_000).is_none());
    let (yaml, _) = loaded("&a [*a, *a]\n");
    assert!(yaml.is_larger_than(1_000) && yaml.json(yaml.documents[0], 100_000).is_none());
    let (yaml, _) = loaded("&a [&b [&c [1], *c], *b]\n");
    let Value::Sequence(all) = &yaml.item(yaml.documents[0]).unwrap().value else { panic!("no sequence") };
    assert_eq!((yaml.is_alias(all[0]), yaml.is_alias(all[1])), (false, true));
    let deep = "[".repeat(5_000);
    assert!(loaded(&deep).1.is_some());
    let deep = format!("{}x{}", "[".repeat(200), "]".repeat(200));
    assert!(loaded(&deep).1.unwrap().contains("deep"));
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in "[-\\[\\]{}:,&*!|>'\"#%@a0 \\n\\t]{0,80}") {
        let (yaml, _) = loaded(&text);
        for place in &yaml.documents {
            let _ = yaml.json(*place, 1_000);
        }
    }
}
