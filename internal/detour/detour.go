package detour

import (
	"slices"
	"sync/atomic"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
)

// Way is another way to code for devices.
type Way struct {
	// Loads is a format of code. Devices that load it are reached this way.
	Loads string
	// Target is what kernels are compiled for on a device of an architecture.
	Target func(arch string) (target.Target, error)
	// Emit makes the code, in a format that the device loads.
	Emit func(p *compiler.Program, t target.Target, opt compiler.Options) (*compiler.Artifact, error)
}

var taken atomic.Pointer[Way]

// Take has kernels that are met from now on go by w, until back is called.
func Take(w *Way) (back func()) {
	before := taken.Swap(w)
	return func() { taken.Store(before) }
}

// For returns the way to devices that load some formats, nil for the usual one.
func For(formats []string) *Way {
	if w := taken.Load(); w != nil && slices.Contains(formats, w.Loads) {
		return w
	}
	return nil
}
