use super::*;

fn of(format: &str, domain: &str, operator: &str) -> &'static Documentation {
    documentation(format, domain, operator).unwrap_or_else(|| panic!("{operator}"))
}

#[test]
fn onnx_says_what_its_operators_do() {
    let conv = of("onnx", "", "Conv");
    assert_eq!(
        conv.summary(),
        "The convolution operator consumes an input tensor and a filter, and computes the output."
    );
    assert_eq!(conv.inputs.iter().map(|own| own.name.as_str()).collect::<Vec<_>>(), ["X", "W", "B"]);
    assert_eq!(conv.input(2).map(|own| own.option), Some(Presence::Optional));
    assert!(conv.input(3).is_none() && conv.since >= Some(22) && conv.versions.starts_with(&[1, 11]));
    let group = conv.attributes.iter().find(|own| own.name == "group").unwrap();
    assert_eq!((group.kind.as_str(), &group.default), ("INT", &Some(1.into())));
    assert!(conv.types.first().unwrap().allowed.iter().any(|own| own == "tensor(float)"));
    assert_eq!(of("onnx", "ai.onnx", "Conv").name, "Conv");
    // Any number of inputs are all the same one.
    assert_eq!(of("onnx", "", "Concat").input(7).map(|own| own.name.as_str()), Some("inputs"));
    let elu = of("onnx", "", "LeakyRelu").attributes.first().unwrap();
    assert_eq!(elu.default.as_ref().unwrap().to_string(), "0.01");
    assert_eq!(of("onnx", "", "Upsample").deprecated, Some(10));
    for (domain, operator) in [("ai.onnx.ml", "TreeEnsemble"), ("ai.onnx.preview.training", "Adam")] {
        assert!(!of("onnx", domain, operator).text.is_empty(), "{operator}");
    }
}

#[test]
fn tensorflow_says_what_its_operators_do() {
    let conv = of("tf_graphdef", "", "Conv2D");
    assert_eq!(conv.summary(), "Computes a 2-D convolution given 4-D `input` and `filter` tensors.");
    assert_eq!(conv.input(1).map(|own| own.name.as_str()), Some("filter"));
    let data_format = conv.attributes.iter().find(|own| own.name == "data_format").unwrap();
    assert_eq!(data_format.default, Some("NHWC".into()));
    assert!(data_format.text.starts_with("Specify the data format"));
}

#[test]
fn nothing_is_lent_from_another_format() {
    for (format, domain, operator) in [
        ("tflite", "", "CONV_2D"),
        ("onnx", "", "Conv2D"),
        ("onnx", "custom", "Conv"),
        ("openvino", "", "Relu"),
    ] {
        assert!(documentation(format, domain, operator).is_none(), "{format} {operator}");
    }
    let node = Operation {
        operator: "Conv".into(),
        function: Some("functions/Conv".into()),
        ..Operation::default()
    };
    assert!(of_node("onnx", &node).is_none());
    assert!(of_node("onnx", &Operation { function: None, ..node }).is_some());
}

#[test]
fn every_operator_of_the_tables_is_whole() {
    let tables = ["onnx", "tf_graphdef"].map(|format| table(format).unwrap());
    assert!(tables[0].len() >= 220 && tables[1].len() >= 1_400);
    for own in tables.iter().flat_map(|table| table.values()) {
        assert!(!own.name.is_empty() && own.inputs.len() + own.outputs.len() < 64, "{}", own.name);
    }
    assert!(tables[0].values().all(|own| !own.text.is_empty() && own.since.is_some()));
}
