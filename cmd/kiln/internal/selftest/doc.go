// Package selftest runs kernels on a device and compares their results with those of
// plain Go. They use what a device most often gets wrong: shared memory, barriers,
// shuffles and votes, atomics, 16-bit floats and accurate division, and where the device
// has them 64-bit floats, 64-bit atomics and the device log.
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
