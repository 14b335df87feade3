//! The fields of TensorFlow's messages that are read, by name, for text files.
//! <https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core/protobuf>,
//! <https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core/framework>

use super::types;
use crate::engines::protobuf::text::Kind::{Bytes, Double, Enum, Float, Int, Message as Inner, Zigzag};
use crate::engines::protobuf::text::Message;

/// `AssetFileDef`.
static ASSET_FILE_DEF: Message = Message(&[("tensor_info", 1, Inner(&TENSOR_INFO)), ("filename", 2, Bytes)]);

/// `AttrValue`.
static ATTR_VALUE: Message = Message(&[
    ("list", 1, Inner(&ATTR_VALUE_LIST_VALUE)),
    ("s", 2, Bytes),
    ("i", 3, Int),
    ("f", 4, Float),
    ("b", 5, Int),
    ("type", 6, Enum(types::number)),
    ("shape", 7, Inner(&TENSOR_SHAPE_PROTO)),
    ("tensor", 8, Inner(&TENSOR_PROTO)),
    ("placeholder", 9, Bytes),
    ("func", 10, Inner(&NAME_ATTR_LIST)),
]);

/// `AttrValue.ListValue`.
static ATTR_VALUE_LIST_VALUE: Message = Message(&[
    ("s", 2, Bytes),
    ("i", 3, Int),
    ("f", 4, Float),
    ("b", 5, Int),
    ("type", 6, Enum(types::number)),
    ("shape", 7, Inner(&TENSOR_SHAPE_PROTO)),
    ("tensor", 8, Inner(&TENSOR_PROTO)),
    ("func", 9, Inner(&NAME_ATTR_LIST)),
]);

/// `BoundedTensorSpecProto`.
static BOUNDED_TENSOR_SPEC_PROTO: Message = Message(&[
    ("name", 1, Bytes),
    ("shape", 2, Inner(&TENSOR_SHAPE_PROTO)),
    ("dtype", 3, Enum(types::number)),
    ("minimum", 4, Inner(&TENSOR_PROTO)),
    ("maximum", 5, Inner(&TENSOR_PROTO)),
]);

/// `CapturedTensor`.
static CAPTURED_TENSOR: Message = Message(&[("name", 1, Bytes), ("concrete_function", 2, Bytes)]);

/// `CollectionDef`.
static COLLECTION_DEF: Message = Message(&[
    ("node_list", 1, Inner(&COLLECTION_DEF_NODE_LIST)),
    ("bytes_list", 2, Inner(&COLLECTION_DEF_BYTES_LIST)),
    ("int64_list", 3, Inner(&COLLECTION_DEF_INT64_LIST)),
    ("float_list", 4, Inner(&COLLECTION_DEF_FLOAT_LIST)),
    ("any_list", 5, Inner(&COLLECTION_DEF_ANY_LIST)),
]);

/// `CollectionDef.AnyList`.
static COLLECTION_DEF_ANY_LIST: Message = Message(&[]);

/// `CollectionDef.BytesList`.
static COLLECTION_DEF_BYTES_LIST: Message = Message(&[("value", 1, Bytes)]);

/// `CollectionDef.FloatList`.
static COLLECTION_DEF_FLOAT_LIST: Message = Message(&[("value", 1, Float)]);

/// `CollectionDef.Int64List`.
static COLLECTION_DEF_INT64_LIST: Message = Message(&[("value", 1, Int)]);

/// `CollectionDef.NodeList`.
static COLLECTION_DEF_NODE_LIST: Message = Message(&[("value", 1, Bytes)]);

/// `DictValue`.
static DICT_VALUE: Message = Message(&[("fields", 1, Inner(&DICT_VALUE_FIELDS_ENTRY))]);

/// `DictValue.FieldsEntry`.
static DICT_VALUE_FIELDS_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&STRUCTURED_VALUE))]);

/// `FunctionDef`.
static FUNCTION_DEF: Message = Message(&[
    ("signature", 1, Inner(&OP_DEF)),
    ("node_def", 3, Inner(&NODE_DEF)),
    ("ret", 4, Inner(&FUNCTION_DEF_RET_ENTRY)),
    ("attr", 5, Inner(&FUNCTION_DEF_ATTR_ENTRY)),
    ("control_ret", 6, Inner(&FUNCTION_DEF_CONTROL_RET_ENTRY)),
    ("arg_attr", 7, Inner(&FUNCTION_DEF_ARG_ATTR_ENTRY)),
    ("resource_arg_unique_id", 8, Inner(&FUNCTION_DEF_RESOURCE_ARG_UNIQUE_ID_ENTRY)),
]);

/// `FunctionDef.ArgAttrs`.
static FUNCTION_DEF_ARG_ATTRS: Message = Message(&[("attr", 1, Inner(&FUNCTION_DEF_ARG_ATTRS_ATTR_ENTRY))]);

/// `FunctionDef.ArgAttrs.AttrEntry`.
static FUNCTION_DEF_ARG_ATTRS_ATTR_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&ATTR_VALUE))]);

/// `FunctionDef.ArgAttrEntry`.
static FUNCTION_DEF_ARG_ATTR_ENTRY: Message =
    Message(&[("key", 1, Int), ("value", 2, Inner(&FUNCTION_DEF_ARG_ATTRS))]);

/// `FunctionDef.AttrEntry`.
static FUNCTION_DEF_ATTR_ENTRY: Message = Message(&[("key", 1, Bytes), ("value", 2, Inner(&ATTR_VALUE))]);

/// `FunctionDef.ControlRetEntry`.
static FUNCTION_DEF_CONTROL_RET_ENTRY: Message = Message(&[("key", 1, Bytes), ("value", 2, Bytes)]);

/// `FunctionDefLibrary`.
static FUNCTION_DEF_LIBRARY: Message = Message(&[
    ("function", 1, Inner(&FUNCTION_DEF)),
    ("gradient", 2, Inner(&GRADIENT_DEF)),
    ("registered_gradients", 3, Inner(&REGISTERED_GRADIENT)),
]);

/// `FunctionDef.ResourceArgUniqueIdEntry`.
static FUNCTION_DEF_RESOURCE_ARG_UNIQUE_ID_ENTRY: Message = Message(&[("key", 1, Int), ("value", 2, Int)]);

/// `FunctionDef.RetEntry`.
static FUNCTION_DEF_RET_ENTRY: Message = Message(&[("key", 1, Bytes), ("value", 2, Bytes)]);

/// `FunctionSpec`.
static FUNCTION_SPEC: Message = Message(&[
    ("fullargspec", 1, Inner(&STRUCTURED_VALUE)),
    ("is_method", 2, Int),
    ("input_signature", 5, Inner(&STRUCTURED_VALUE)),
    ("jit_compile", 6, Int),
]);

/// `GradientDef`.
static GRADIENT_DEF: Message = Message(&[("function_name", 1, Bytes), ("gradient_func", 2, Bytes)]);

/// `GraphDef`.
pub static GRAPH_DEF: Message = Message(&[
    ("node", 1, Inner(&NODE_DEF)),
    ("library", 2, Inner(&FUNCTION_DEF_LIBRARY)),
    ("version", 3, Int),
    ("versions", 4, Inner(&VERSION_DEF)),
]);

/// `ListValue`.
static LIST_VALUE: Message = Message(&[("values", 1, Inner(&STRUCTURED_VALUE))]);

/// `MetaGraphDef`.
pub static META_GRAPH_DEF: Message = Message(&[
    ("meta_info_def", 1, Inner(&META_GRAPH_DEF_META_INFO_DEF)),
    ("graph_def", 2, Inner(&GRAPH_DEF)),
    ("saver_def", 3, Inner(&SAVER_DEF)),
    ("collection_def", 4, Inner(&META_GRAPH_DEF_COLLECTION_DEF_ENTRY)),
    ("signature_def", 5, Inner(&META_GRAPH_DEF_SIGNATURE_DEF_ENTRY)),
    ("asset_file_def", 6, Inner(&ASSET_FILE_DEF)),
    ("object_graph_def", 7, Inner(&SAVED_OBJECT_GRAPH)),
]);

/// `MetaGraphDef.CollectionDefEntry`.
static META_GRAPH_DEF_COLLECTION_DEF_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&COLLECTION_DEF))]);

/// `MetaGraphDef.MetaInfoDef`.
static META_GRAPH_DEF_META_INFO_DEF: Message = Message(&[
    ("meta_graph_version", 1, Bytes),
    ("tags", 4, Bytes),
    ("tensorflow_version", 5, Bytes),
    ("tensorflow_git_version", 6, Bytes),
    ("stripped_default_attrs", 7, Int),
    ("function_aliases", 8, Inner(&META_GRAPH_DEF_META_INFO_DEF_FUNCTION_ALIASES_ENTRY)),
]);

/// `MetaGraphDef.MetaInfoDef.FunctionAliasesEntry`.
static META_GRAPH_DEF_META_INFO_DEF_FUNCTION_ALIASES_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Bytes)]);

/// `MetaGraphDef.SignatureDefEntry`.
static META_GRAPH_DEF_SIGNATURE_DEF_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&SIGNATURE_DEF))]);

/// `NamedTupleValue`.
static NAMED_TUPLE_VALUE: Message = Message(&[("name", 1, Bytes), ("values", 2, Inner(&PAIR_VALUE))]);

/// `NameAttrList`.
static NAME_ATTR_LIST: Message =
    Message(&[("name", 1, Bytes), ("attr", 2, Inner(&NAME_ATTR_LIST_ATTR_ENTRY))]);

/// `NameAttrList.AttrEntry`.
static NAME_ATTR_LIST_ATTR_ENTRY: Message = Message(&[("key", 1, Bytes), ("value", 2, Inner(&ATTR_VALUE))]);

/// `NodeDef`.
static NODE_DEF: Message = Message(&[
    ("name", 1, Bytes),
    ("op", 2, Bytes),
    ("input", 3, Bytes),
    ("device", 4, Bytes),
    ("attr", 5, Inner(&NODE_DEF_ATTR_ENTRY)),
    ("experimental_debug_info", 6, Inner(&NODE_DEF_EXPERIMENTAL_DEBUG_INFO)),
]);

/// `NodeDef.AttrEntry`.
static NODE_DEF_ATTR_ENTRY: Message = Message(&[("key", 1, Bytes), ("value", 2, Inner(&ATTR_VALUE))]);

/// `NodeDef.ExperimentalDebugInfo`.
static NODE_DEF_EXPERIMENTAL_DEBUG_INFO: Message =
    Message(&[("original_node_names", 1, Bytes), ("original_func_names", 2, Bytes)]);

/// `NoneValue`.
static NONE_VALUE: Message = Message(&[]);

/// `OpDef`.
static OP_DEF: Message = Message(&[
    ("name", 1, Bytes),
    ("input_arg", 2, Inner(&OP_DEF_ARG_DEF)),
    ("output_arg", 3, Inner(&OP_DEF_ARG_DEF)),
    ("attr", 4, Inner(&OP_DEF_ATTR_DEF)),
    ("summary", 5, Bytes),
    ("description", 6, Bytes),
    ("is_aggregate", 16, Int),
    ("is_stateful", 17, Int),
    ("is_commutative", 18, Int),
    ("allows_uninitialized_input", 19, Int),
    ("control_output", 20, Bytes),
    ("is_distributed_communication", 21, Int),
]);

/// `OpDef.ArgDef`.
static OP_DEF_ARG_DEF: Message = Message(&[
    ("name", 1, Bytes),
    ("description", 2, Bytes),
    ("type", 3, Enum(types::number)),
    ("type_attr", 4, Bytes),
    ("number_attr", 5, Bytes),
    ("type_list_attr", 6, Bytes),
    ("handle_data", 7, Inner(&RESOURCE_HANDLE_PROTO_DTYPE_AND_SHAPE)),
    ("is_ref", 16, Int),
]);

/// `OpDef.AttrDef`.
static OP_DEF_ATTR_DEF: Message = Message(&[
    ("name", 1, Bytes),
    ("type", 2, Bytes),
    ("default_value", 3, Inner(&ATTR_VALUE)),
    ("description", 4, Bytes),
    ("has_minimum", 5, Int),
    ("minimum", 6, Int),
    ("allowed_values", 7, Inner(&ATTR_VALUE)),
]);

/// `PairValue`.
static PAIR_VALUE: Message = Message(&[("key", 1, Bytes), ("value", 2, Inner(&STRUCTURED_VALUE))]);

/// `RegisteredGradient`.
static REGISTERED_GRADIENT: Message =
    Message(&[("gradient_func", 1, Bytes), ("registered_op_type", 2, Bytes)]);

/// `ResourceHandleProto`.
static RESOURCE_HANDLE_PROTO: Message = Message(&[
    ("device", 1, Bytes),
    ("container", 2, Bytes),
    ("name", 3, Bytes),
    ("hash_code", 4, Int),
    ("maybe_type_name", 5, Bytes),
    ("dtypes_and_shapes", 6, Inner(&RESOURCE_HANDLE_PROTO_DTYPE_AND_SHAPE)),
]);

/// `ResourceHandleProto.DtypeAndShape`.
static RESOURCE_HANDLE_PROTO_DTYPE_AND_SHAPE: Message =
    Message(&[("dtype", 1, Enum(types::number)), ("shape", 2, Inner(&TENSOR_SHAPE_PROTO))]);

/// `SaveableObject`.
static SAVEABLE_OBJECT: Message = Message(&[("save_function", 2, Int), ("restore_function", 3, Int)]);

/// `SavedAsset`.
static SAVED_ASSET: Message = Message(&[("asset_file_def_index", 1, Int)]);

/// `SavedBareConcreteFunction`.
static SAVED_BARE_CONCRETE_FUNCTION: Message = Message(&[
    ("concrete_function_name", 1, Bytes),
    ("argument_keywords", 2, Bytes),
    ("allowed_positional_arguments", 3, Int),
    ("function_spec", 4, Inner(&FUNCTION_SPEC)),
]);

/// `SavedConcreteFunction`.
static SAVED_CONCRETE_FUNCTION: Message = Message(&[
    ("bound_inputs", 2, Int),
    ("canonicalized_input_signature", 3, Inner(&STRUCTURED_VALUE)),
    ("output_signature", 4, Inner(&STRUCTURED_VALUE)),
]);

/// `SavedConstant`.
static SAVED_CONSTANT: Message = Message(&[("operation", 1, Bytes)]);

/// `SavedFunction`.
static SAVED_FUNCTION: Message =
    Message(&[("concrete_functions", 1, Bytes), ("function_spec", 2, Inner(&FUNCTION_SPEC))]);

/// `SavedModel`.
pub static SAVED_MODEL: Message =
    Message(&[("saved_model_schema_version", 1, Int), ("meta_graphs", 2, Inner(&META_GRAPH_DEF))]);

/// `SavedObject`.
static SAVED_OBJECT: Message = Message(&[
    ("children", 1, Inner(&TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_OBJECT_REFERENCE)),
    ("slot_variables", 3, Inner(&TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_SLOT_VARIABLE_REFERENCE)),
    ("user_object", 4, Inner(&SAVED_USER_OBJECT)),
    ("asset", 5, Inner(&SAVED_ASSET)),
    ("function", 6, Inner(&SAVED_FUNCTION)),
    ("variable", 7, Inner(&SAVED_VARIABLE)),
    ("bare_concrete_function", 8, Inner(&SAVED_BARE_CONCRETE_FUNCTION)),
    ("constant", 9, Inner(&SAVED_CONSTANT)),
    ("resource", 10, Inner(&SAVED_RESOURCE)),
    ("saveable_objects", 11, Inner(&SAVED_OBJECT_SAVEABLE_OBJECTS_ENTRY)),
    ("captured_tensor", 12, Inner(&CAPTURED_TENSOR)),
    ("registered_name", 13, Bytes),
    ("dependencies", 15, Inner(&TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_OBJECT_REFERENCE)),
    ("registered_saver", 16, Bytes),
]);

/// `SavedObjectGraph`.
static SAVED_OBJECT_GRAPH: Message = Message(&[
    ("nodes", 1, Inner(&SAVED_OBJECT)),
    ("concrete_functions", 2, Inner(&SAVED_OBJECT_GRAPH_CONCRETE_FUNCTIONS_ENTRY)),
]);

/// `SavedObjectGraph.ConcreteFunctionsEntry`.
static SAVED_OBJECT_GRAPH_CONCRETE_FUNCTIONS_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&SAVED_CONCRETE_FUNCTION))]);

/// `SavedObject.SaveableObjectsEntry`.
static SAVED_OBJECT_SAVEABLE_OBJECTS_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&SAVEABLE_OBJECT))]);

/// `SavedResource`.
static SAVED_RESOURCE: Message = Message(&[("device", 1, Bytes)]);

/// `SavedUserObject`.
static SAVED_USER_OBJECT: Message =
    Message(&[("identifier", 1, Bytes), ("version", 2, Inner(&VERSION_DEF)), ("metadata", 3, Bytes)]);

/// `SavedVariable`.
static SAVED_VARIABLE: Message = Message(&[
    ("dtype", 1, Enum(types::number)),
    ("shape", 2, Inner(&TENSOR_SHAPE_PROTO)),
    ("trainable", 3, Int),
    ("synchronization", 4, Int),
    ("aggregation", 5, Int),
    ("name", 6, Bytes),
    ("device", 7, Bytes),
    ("experimental_distributed_variable_components", 8, Inner(&SAVED_VARIABLE)),
]);

/// `SaverDef`.
static SAVER_DEF: Message = Message(&[
    ("filename_tensor_name", 1, Bytes),
    ("save_tensor_name", 2, Bytes),
    ("restore_op_name", 3, Bytes),
    ("max_to_keep", 4, Int),
    ("sharded", 5, Int),
    ("keep_checkpoint_every_n_hours", 6, Float),
    ("version", 7, Int),
]);

/// `SignatureDef`.
pub static SIGNATURE_DEF: Message = Message(&[
    ("inputs", 1, Inner(&SIGNATURE_DEF_INPUTS_ENTRY)),
    ("outputs", 2, Inner(&SIGNATURE_DEF_OUTPUTS_ENTRY)),
    ("method_name", 3, Bytes),
    ("defaults", 4, Inner(&SIGNATURE_DEF_DEFAULTS_ENTRY)),
]);

/// `SignatureDef.DefaultsEntry`.
static SIGNATURE_DEF_DEFAULTS_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&TENSOR_PROTO))]);

/// `SignatureDef.InputsEntry`.
static SIGNATURE_DEF_INPUTS_ENTRY: Message = Message(&[("key", 1, Bytes), ("value", 2, Inner(&TENSOR_INFO))]);

/// `SignatureDef.OutputsEntry`.
static SIGNATURE_DEF_OUTPUTS_ENTRY: Message =
    Message(&[("key", 1, Bytes), ("value", 2, Inner(&TENSOR_INFO))]);

/// `StructuredValue`.
static STRUCTURED_VALUE: Message = Message(&[
    ("none_value", 1, Inner(&NONE_VALUE)),
    ("float64_value", 11, Double),
    ("int64_value", 12, Zigzag),
    ("string_value", 13, Bytes),
    ("bool_value", 14, Int),
    ("tensor_shape_value", 31, Inner(&TENSOR_SHAPE_PROTO)),
    ("tensor_dtype_value", 32, Enum(types::number)),
    ("tensor_spec_value", 33, Inner(&TENSOR_SPEC_PROTO)),
    ("type_spec_value", 34, Inner(&TYPE_SPEC_PROTO)),
    ("bounded_tensor_spec_value", 35, Inner(&BOUNDED_TENSOR_SPEC_PROTO)),
    ("list_value", 51, Inner(&LIST_VALUE)),
    ("tuple_value", 52, Inner(&TUPLE_VALUE)),
    ("dict_value", 53, Inner(&DICT_VALUE)),
    ("named_tuple_value", 54, Inner(&NAMED_TUPLE_VALUE)),
    ("tensor_value", 55, Inner(&TENSOR_PROTO)),
    ("numpy_value", 56, Inner(&TENSOR_PROTO)),
]);

/// `TensorInfo`.
static TENSOR_INFO: Message = Message(&[
    ("name", 1, Bytes),
    ("dtype", 2, Enum(types::number)),
    ("tensor_shape", 3, Inner(&TENSOR_SHAPE_PROTO)),
    ("coo_sparse", 4, Inner(&TENSOR_INFO_COO_SPARSE)),
    ("composite_tensor", 5, Inner(&TENSOR_INFO_COMPOSITE_TENSOR)),
]);

/// `TensorInfo.CompositeTensor`.
static TENSOR_INFO_COMPOSITE_TENSOR: Message =
    Message(&[("type_spec", 1, Inner(&TYPE_SPEC_PROTO)), ("components", 2, Inner(&TENSOR_INFO))]);

/// `TensorInfo.CooSparse`.
static TENSOR_INFO_COO_SPARSE: Message = Message(&[
    ("values_tensor_name", 1, Bytes),
    ("indices_tensor_name", 2, Bytes),
    ("dense_shape_tensor_name", 3, Bytes),
]);

/// `TensorProto`.
static TENSOR_PROTO: Message = Message(&[
    ("dtype", 1, Enum(types::number)),
    ("tensor_shape", 2, Inner(&TENSOR_SHAPE_PROTO)),
    ("version_number", 3, Int),
    ("tensor_content", 4, Bytes),
    ("float_val", 5, Float),
    ("double_val", 6, Double),
    ("int_val", 7, Int),
    ("string_val", 8, Bytes),
    ("scomplex_val", 9, Float),
    ("int64_val", 10, Int),
    ("bool_val", 11, Int),
    ("dcomplex_val", 12, Double),
    ("half_val", 13, Int),
    ("resource_handle_val", 14, Inner(&RESOURCE_HANDLE_PROTO)),
    ("variant_val", 15, Inner(&VARIANT_TENSOR_DATA_PROTO)),
    ("uint32_val", 16, Int),
    ("uint64_val", 17, Int),
    ("float8_val", 18, Bytes),
]);

/// `TensorShapeProto`.
static TENSOR_SHAPE_PROTO: Message =
    Message(&[("dim", 2, Inner(&TENSOR_SHAPE_PROTO_DIM)), ("unknown_rank", 3, Int)]);

/// `TensorShapeProto.Dim`.
static TENSOR_SHAPE_PROTO_DIM: Message = Message(&[("size", 1, Int), ("name", 2, Bytes)]);

/// `TensorSpecProto`.
static TENSOR_SPEC_PROTO: Message = Message(&[
    ("name", 1, Bytes),
    ("shape", 2, Inner(&TENSOR_SHAPE_PROTO)),
    ("dtype", 3, Enum(types::number)),
]);

/// `TrackableObjectGraph.TrackableObject.ObjectReference`.
static TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_OBJECT_REFERENCE: Message =
    Message(&[("node_id", 1, Int), ("local_name", 2, Bytes)]);

/// `TrackableObjectGraph.TrackableObject.SlotVariableReference`.
static TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_SLOT_VARIABLE_REFERENCE: Message = Message(&[
    ("original_variable_node_id", 1, Int),
    ("slot_name", 2, Bytes),
    ("slot_variable_node_id", 3, Int),
]);

/// `TupleValue`.
static TUPLE_VALUE: Message = Message(&[("values", 1, Inner(&STRUCTURED_VALUE))]);

/// `TypeSpecProto`.
static TYPE_SPEC_PROTO: Message = Message(&[
    ("type_spec_class", 1, Int),
    ("type_state", 2, Inner(&STRUCTURED_VALUE)),
    ("type_spec_class_name", 3, Bytes),
    ("num_flat_components", 4, Int),
]);

/// `VariantTensorDataProto`.
static VARIANT_TENSOR_DATA_PROTO: Message =
    Message(&[("type_name", 1, Bytes), ("metadata", 2, Bytes), ("tensors", 3, Inner(&TENSOR_PROTO))]);

/// `VersionDef`.
static VERSION_DEF: Message =
    Message(&[("producer", 1, Int), ("min_consumer", 2, Int), ("bad_consumers", 3, Int)]);
