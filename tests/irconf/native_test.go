package irconf_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/amd64"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/engine"
	"github.com/gokiln/kiln/tests/irconf"
)

// TestNative runs every case as machine code of the CPU, for both instruction sets.
func TestNative(t *testing.T) {
	for _, e := range engine.Native() {
		t.Run(e.Name, func(t *testing.T) {
			dev := e.Open(t)
			tgt, err := target.Parse("cpu:" + e.Arch)
			require.NoError(t, err)
			for _, c := range append(irconf.CasesFor(e.Warp), irconf.NarrowUpdates()...) {
				t.Run(c.Name, func(t *testing.T) { runNative(t, dev, tgt, c) })
			}
		})
	}
}

// runNative runs a case, which has none of what is left to the interpreter.
func runNative(t *testing.T, dev *runtime.Device, tgt target.Target, c irconf.Case) {
	m, err := ir.Parse(c.Text)
	require.NoError(t, err)
	code, err := amd64.Emit(m, tgt)
	require.False(t, errors.Is(err, image.ErrInterp), "left to the interpreter: %v", err)
	require.NoError(t, err)
	name := m.Kernel().Name
	mod, err := dev.Load(runtime.Image{Format: "x86", Name: name, Code: code})
	require.NoError(t, err)
	fn, err := mod.Function(name)
	require.NoError(t, err)
	got, err := irconf.Run(dev, fn, c)
	require.NoError(t, err)
	require.NoError(t, c.Check(got))
}
