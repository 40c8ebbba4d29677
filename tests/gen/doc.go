// Package gen tests the launchers that the command kiln gen writes: the packages below it
// have kernels with every form of parameter, name and constraint, and their generated
// files as they are committed.
//
//	shapes         the forms of parameters, type parameters and constraints
//	other/real     a package whose types and constraints they use
//	internal/real  another one of that name
//	internal/clash names that the generated code would have liked
//	program        kernels of a program
//
// The tests compare the files with what is generated now (go test ./tests/gen -update
// writes it), launch everything and compare results.
package gen
