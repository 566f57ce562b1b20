//! The API as its clients see it.

mod rest;
