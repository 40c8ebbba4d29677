// Testtime runs go test and prints what each package took, the longest first.
//
//	go run ./internal/testtime ./...                  # what nobody has run since the last change
//	go run ./internal/testtime -count=1 ./...         # all, with the build cache as it is
//	go run ./internal/testtime -write docs/testing.md -count=1 ./...
//
// The model:
//
//   - Its arguments are those of go test, -write aside, which says in which page the table is.
//   - go test starts each test binary by -exec through testtime itself, which writes down the processor
//     time of the binary, of programs that this starts (compilers, simulators) and has waited for, and
//     the wall time. Processor time is what to compare: the wall time of a package depends on which
//     others run beside it.
//   - What remains of the go command's own processor time is building: compiling and linking
//     what is tested.
//   - Packages whose result is cached were not run, and are not in the table.
package main
