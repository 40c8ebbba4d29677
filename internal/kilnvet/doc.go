// Command kilnvet checks the rules of this repository that the Go compiler
// cannot know:
//
//	go run ./internal/kilnvet ./...
//
// The model:
//
//   - The go command names the packages; kilnvet parses every Go file of them,
//     also the files that build constraints leave out on this system.
//   - A rule is a function over one package that reports findings. The rules
//     are the rows of one table, [rules].
//   - arrows: imports between the folders of the module point one way. What a
//     folder may import is a row of [arrows]; a folder without a row is a
//     finding, so that a new one is thought about. Test files are free, since
//     the Go compiler refuses the cycles that would matter.
//   - homes: some modules are imported by one folder alone, as purego is by internal/dl
//     ([homes] lists them), and nothing imports "C".
//   - stacks: only tests call runtime.Stack, whose text has the numbers of goroutines.
//   - names: no identifier and no string holds the name of a backend in the kernel
//     language, the middle of the compiler, jit, the operations, the kernels and the
//     examples ([neutral] lists the folders). A new backend is one emitter and one driver.
//   - identity: operations and what is made of them do not ask a device for its kind,
//     vendor or architecture, only for numbers ([blind] lists the folders).
//   - kernels: a package called kernels imports what kernels may use.
//   - doc: every package has a doc.go with its package comment.
//
// A finding is one line, file:line:col: rule: what is wrong; what to do. The
// exit status is 0 when there are none, 1 when there are, 2 when a package
// could not be read.
package main
