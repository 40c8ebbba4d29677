// Package testkernels has kernels for tests of package tensor, which launches them as
// programs launch theirs.
//
//	err := tensor.Launch(jit.Of(testkernels.Double), grid, x, x.Layout())
package testkernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
