#[test]
fn types_of_any_number_have_a_word() {
    assert_eq!(super::types::word(101), "ref(float32)");
    assert_eq!(super::types::word(u64::MAX), format!("type {}", u64::MAX));
}
