package opencl_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	emit "github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/gokiln/kiln/tests/opencl"
)

// batch is how many programs are compiled together.
const batch = 200

func open(t *testing.T) *opencl.Device {
	dev, err := opencl.Open()
	if err == nil {
		t.Logf("on %s", dev.Name())
		return dev
	}
	if os.Getenv("KILN_REQUIRE_TOOLS") == "1" {
		t.Fatalf("needs an OpenCL driver, such as PoCL: %v", err)
	}
	t.Skipf("needs an OpenCL driver, such as PoCL: %v", err)
	return nil
}

// TestPrograms runs every program of irconf that OpenCL C has.
func TestPrograms(t *testing.T) {
	dev := open(t)
	tgt, err := target.Parse("opencl:1.2")
	require.NoError(t, err)
	have, _, err := irconf.Written(emit.Language, tgt, irconf.Cases())
	require.NoError(t, err)
	for part := range slices.Chunk(have, batch) {
		text, err := irconf.Together(emit.Language, tgt, part)
		require.NoError(t, err)
		program, err := dev.Build(text, emit.BuildOptions)
		require.NoError(t, err)
		for i, c := range part {
			t.Run(c.Name, func(t *testing.T) {
				got, args := arguments(c)
				require.NoError(t, program.Run(fmt.Sprintf("k%d", i), c.Grid, c.Block, args))
				require.NoError(t, c.Check(got))
			})
		}
	}
}

// arguments returns what a case passes, and copies of its buffers, which are among
// it. A slice is memory and a length; an empty struct is nothing.
func arguments(c irconf.Case) (bufs [][]byte, args []opencl.Arg) {
	for _, b := range c.Bufs {
		bufs = append(bufs, slices.Clone(b))
	}
	for _, a := range c.Args {
		switch {
		case a.Buf >= 0:
			n := len(bufs[a.Buf]) / c.Types[a.Buf].Size()
			args = append(args, opencl.Arg{Memory: true, Bytes: bufs[a.Buf]}, opencl.Arg{Bytes: binary.LittleEndian.AppendUint64(nil, uint64(n))})
		case len(a.Scalar) > 0:
			args = append(args, opencl.Arg{Bytes: a.Scalar})
		}
	}
	return bufs, args
}

// TestBuildError shows the compiler's log.
func TestBuildError(t *testing.T) {
	_, err := open(t).Build("__kernel void k(void) { nonsense; }", "")
	require.ErrorContains(t, err, "clBuildProgram: OpenCL error")
	require.ErrorContains(t, err, "nonsense")
}
