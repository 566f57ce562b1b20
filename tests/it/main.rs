//! System tests, one module per capability.

// `cfg(test)` on each tells clippy that helpers in there may unwrap as well.
#[cfg(test)]
mod api;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod archive;
#[cfg(test)]
mod assets;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod callbacks;
#[cfg(test)]
mod features;
#[cfg(test)]
mod geo;
#[cfg(test)]
mod launcher;
#[cfg(test)]
mod lexer;
#[cfg(test)]
mod log;
#[cfg(test)]
mod observe;
#[cfg(test)]
mod portal;
#[cfg(test)]
mod purity;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod repo;
#[cfg(test)]
mod system;
#[cfg(test)]
mod tidy;
