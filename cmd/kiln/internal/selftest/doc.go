// Package selftest runs a kernel on a device and checks its results. The kernel
// uses what a device most often gets wrong: shared memory, barriers, warp
// shuffles, atomics, 16-bit floats and accurate division.
//
//	if err := selftest.Run(dev); err != nil {
//		fmt.Println("this device computes wrongly:", err)
//	}
package selftest

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
