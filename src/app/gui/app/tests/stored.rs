//! From what the inspector tells to the bytes of the file.

use super::*;

#[test]
fn an_attribute_leads_to_its_bytes() {
    let path = fixture("hdf5/attributes_latest.h5");
    let named = PathBuf::from(format!("{}#/few", path.display()));
    // High enough for all that the inspector tells.
    let mut harness = window_of(&[&named], Session::default(), vec2(1200.0, 1600.0));
    harness.get_by_label("float: 0.1").click_secondary();
    settle(&mut harness);
    // The menu lies over the section about the element, which has such a button, too.
    harness.query_all_by_role_and_label(Role::Button, "Show bytes").last().unwrap().click();
    settle(&mut harness);
    let name = harness.state().app().tabs.active().map(|pane| pane.content().clone());
    let Some(TabContent::Bytes(of)) = name else { panic!("no bytes: {name:?}") };
    assert_eq!(of.name(), "Bytes of attribute float");
    // The bytes at the place that the legend names are the number.
    let legend = labels(&harness, Role::Button).into_iter().find(|label| label.starts_with("value: bytes "));
    let legend = legend.expect("a legend");
    let start: usize = legend.split(' ').nth(2).unwrap().parse().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[start..start + 4], 0.1f32.to_le_bytes(), "{legend}");
}
