// Package elementwisetest has the cases of package elementwise: elementwise operations, copies and
// functions of programs. Package suite runs them.
package elementwisetest
