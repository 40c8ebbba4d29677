package irconf

import (
	"testing"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
)

// TestCUDA runs every case on the first NVIDIA GPU.
func TestCUDA(t *testing.T) {
	dev, err := runtime.Open("cuda:0")
	if err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	defer dev.Close()
	info := dev.Info()
	tgt, err := target.ForCUDA(info.ComputeMajor, info.ComputeMinor)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			got, err := onDevice(dev, tgt, c)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Check(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// onDevice runs c as PTX and returns the contents of its buffers.
func onDevice(dev *runtime.Device, tgt target.Target, c Case) ([][]byte, error) {
	m, err := ir.Parse(c.Text)
	if err != nil {
		return nil, err
	}
	text, err := ptx.Emit(m, tgt)
	if err != nil {
		return nil, err
	}
	entry := ir.Symbol(m.Kernel().Name)
	mod, err := dev.Load(runtime.Image{Format: "ptx", Name: entry, Code: []byte(text)})
	if err != nil {
		return nil, err
	}
	fn, err := mod.Function(entry)
	if err != nil {
		return nil, err
	}
	return Run(dev, fn, c)
}
