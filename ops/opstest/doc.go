// Package opstest is what the tests of every family of tensor operations share: operands of every
// element type and kind of layout on any device, with poison around them, comparisons in units in
// the last place, and shares of the cases.
//
// The cases are beside the families, in packages such as ops/rows/rowstest; package suite runs them
// all.
package opstest
