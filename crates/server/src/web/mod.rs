//! HTTP as such: what a route is, what happens to every request on its way to one, and how answers and errors look.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod credentials;
pub(crate) mod fields;
pub(crate) mod openapi;
pub(crate) mod route;
pub(crate) mod serving;
pub(crate) mod shapes;
