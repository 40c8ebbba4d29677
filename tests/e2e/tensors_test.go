package e2e

import (
	"encoding/binary"
	"math"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
)

// writeTensors writes small.npz, with a weight of numbers from 0 on and a bias, and quantized.gguf,
// with two blocks of type Q8_0: halves from 0 up, and from 0 down.
func writeTensors(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: write-tensors")
	}
	floats := func(name string, s layout.Shape, values ...float32) *file.Entry {
		var b []byte
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		e, err := file.FromMemory(name, dtype.F32, s, b)
		ts.Check(err)
		return e
	}
	ts.Check(npy.WriteNPZFile(ts.MkAbs("small.npz"),
		floats("weight", layout.Shape{2, 3}, 0, 1, 2, 3, 4, 5), floats("bias", layout.Shape{3}, 0.5, 1, -2)))

	const half = 0x3800 // as a float16
	var blocks []byte
	for _, sign := range []int{1, -1} {
		blocks = binary.LittleEndian.AppendUint16(blocks, half)
		for i := range 32 {
			blocks = append(blocks, byte(sign*i))
		}
	}
	enc, err := gguf.Encoding(format.Q8_0)
	ts.Check(err)
	w, err := file.FromBlocks("w", enc, layout.Shape{2, 32}, func() ([]byte, error) { return blocks, nil })
	ts.Check(err)
	m := &gguf.Metadata{}
	m.Set(gguf.KeyArchitecture, gguf.Of("test"))
	ts.Check(gguf.WriteFile(ts.MkAbs("quantized.gguf"), m, w))
}
