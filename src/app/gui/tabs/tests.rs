//! Tabs that come back, from a session or after another preview.

use std::sync::Arc;

use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::format::Options;
use gander::data::node::Node;
use gander::formats::open_source;
use serde_json::json;

use super::*;

fn tab(node: &str, group: usize, open: bool) -> Tab {
    let content = KeptContent::Node("/there/x.csv".into(), node.into());
    Tab { content, name: node.into(), group, open, ..Tab::default() }
}

fn files() -> (Files, u64) {
    let mut files = Files::default();
    let (id, _) = files.open("/there/x.csv".as_ref());
    (files, id)
}

#[test]
fn groups_stand_as_they_stood() {
    let (files, id) = files();
    let mut tabs = vec![tab("a", 0, false), tab("b", 0, true), tab("c", 1, true), tab("d", 2, true)];
    tabs[2].active = true;
    let below = Split::Below(vec![(3.0, Split::Group(1)), (1.0, Split::Group(2))]);
    let split = Split::Beside(vec![(1.5, Split::Group(0)), (0.5, below)]);
    let mut all = Tabs::default();
    all.restore(&tabs, Some(&split), |_| Some(id));
    assert_eq!(all.keep(&files), (tabs.clone(), Some(split)));
    // A session without it: side by side.
    let mut old = Tabs::default();
    old.restore(&tabs, None, |_| Some(id));
    let (kept, split) = old.keep(&files);
    assert_eq!(kept, tabs);
    assert!(matches!(split, Some(Split::Beside(parts)) if parts.len() == 3));
    let mut none = Tabs::default();
    none.restore(&tabs, None, |_| None);
    assert!(none.is_empty() && none.keep(&files) == (Vec::new(), None));
}

#[test]
fn a_preview_comes_back_as_it_was_left() {
    let (files, file) = files();
    let source = Source::memory("x.csv", b"a,b\n1,2\n".to_vec());
    let document = Arc::new(open_source(&Task::new(), &source, &Options::default()).unwrap());
    let target = |path: &str| {
        let node = Arc::new(Node::new(path, "table"));
        Target { file, document: document.clone(), path: path.to_owned(), node }
    };
    let mut tabs = Tabs::default();
    let state = json!({ "top": 7 });
    let first = Tab { preview: true, active: true, view: state.clone(), ..tab("a", 0, true) };
    tabs.restore(&[first], None, |_| Some(file));
    tabs.show(target("b"), Where::Preview);
    let kept = |tabs: &Tabs| {
        let mut kept = tabs.keep(&files).0;
        assert_eq!(kept.len(), 1);
        kept.remove(0)
    };
    assert_eq!((kept(&tabs).content, kept(&tabs).view), (tab("b", 0, true).content, Value::Null));
    tabs.show(target("a"), Where::Preview);
    assert_eq!((kept(&tabs).content, kept(&tabs).view), (tab("a", 0, true).content, state));
    // Of many nodes only the last ones are known.
    for n in 0..2 * LEFT {
        let other = Tab { preview: true, view: json!(n), ..tab(&n.to_string(), 0, true) };
        let content = TabContent::Node(NodeRef::new(file, n.to_string()));
        tabs.remember(&Pane::restored(0, content, &other));
    }
    assert_eq!((tabs.left.len(), tabs.recall(&NodeRef::new(file, "0"))), (LEFT, None));
    let last = 2 * LEFT - 1;
    assert_eq!(tabs.recall(&NodeRef::new(file, last.to_string())), Some(json!(last)));
    tabs.close_file(file);
    assert!(tabs.left.is_empty());
}
