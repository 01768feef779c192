//! Tells cargo that the rule files are built in, so that adding one rebuilds the program.

#![allow(clippy::print_stdout)] // the way a build script speaks

fn main() {
    println!("cargo::rerun-if-changed=rules");
}
