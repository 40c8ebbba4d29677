// Package prebuilt is the folder of packages that bring compiled kernels: those of the
// operations that most programs use, for one kind of device each. A program imports one, and
// finds their code in itself instead of compiling it:
//
//	import _ "github.com/gokiln/kiln/prebuilt/cpu"
//
// The model:
//
//   - kernels.txt of a package is the record of what the operations of prebuilt/commonops use
//     on such a device, and zz_prebuilt_*.kiln the bundle that kiln prebuild makes of it.
//   - Everything goes by keys, which cover the source of kernels and the version of the
//     compiler. What is not in the bundle, or has changed since, is compiled as
//     without it: a stale bundle costs time, and never gives another result.
//   - A bundle is looked into when the first kernel is resolved, an entry read when it is used.
//   - The build tag kiln_noprebuilt leaves the bundles out.
//   - go generate ./prebuilt/... records and builds both, in about two minutes of one processor; the
//     same source gives the same bytes. It needs gcc, and neither a GPU nor a certain processor:
//     nothing that is recorded runs.
//   - KILN_PREBUILT=all go test ./prebuilt compiles everything again and fails if a byte
//     differs. Without the variable the test compiles a sample, and only says what is stale.
package prebuilt
