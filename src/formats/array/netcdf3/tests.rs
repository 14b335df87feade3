use super::*;
use crate::Task;
