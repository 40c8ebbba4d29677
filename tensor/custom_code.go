package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	goruntime "runtime"

	"github.com/gokiln/kiln/runtime"
)

// Code is a kernel that was not written in Go, loaded on a device: for the methods of
// operations that are for one kind of device.
type Code struct {
	dev *Device
	fn  *runtime.Function
}

// codeKey is what loaded code is found by.
type codeKey struct{ format, text, entry string }

// Code loads a kernel in a format that the device takes, text of the vendor's language or
// machine code: the first formats of [runtime.Info] are those. The same code is loaded
// once.
func (d *Device) Code(img runtime.Image, entry string) (*Code, error) {
	const op = "load code"
	if err := d.check(); err != nil {
		return nil, wrap(op, err)
	}
	key := codeKey{img.Format, string(img.Code), entry}
	if c, ok := d.codes.Load(key); ok {
		return c.(*Code), nil
	}
	mod, err := d.rt.Load(img)
	if err != nil {
		return nil, wrap(op, err)
	}
	fn, err := mod.Function(entry)
	if err != nil {
		return nil, wrap(op, err)
	}
	c, _ := d.codes.LoadOrStore(key, &Code{d, fn})
	return c.(*Code), nil
}

// Launch runs the kernel behind the work so far. Its parameters are, in their order,
// pointers for tensors, to their first element, and numbers for numbers of the same size:
// the caller makes sure that they are what the code wants.
func (c *Code) Launch(g runtime.Grid, args ...any) error {
	const op = "launch code"
	var block []byte
	for i, arg := range args {
		if t, ok := arg.(*Tensor); ok {
			if bad := first(op, t); bad != nil {
				return bad.err
			}
			if t.dev != c.dev {
				return wrap(op, fmt.Errorf("%w: argument %d is on %s, the code on %s", ErrDevice, i+1, t.dev, c.dev))
			}
			addr, err := t.address()
			if err != nil {
				return wrap(op, fmt.Errorf("argument %d: %w", i+1, err))
			}
			block = binary.LittleEndian.AppendUint64(align(block, 8), addr)
			continue
		}
		size, bits, ok := numberBits(reflect.ValueOf(arg))
		if !ok {
			return wrap(op, fmt.Errorf("%w: argument %d is %T, want a *Tensor or a number", ErrArgument, i+1, arg))
		}
		block = align(block, size)
		for range size {
			block, bits = append(block, byte(bits)), bits>>8
		}
	}
	err := c.dev.stream.Launch(c.fn, g, 0, align(block, 8))
	goruntime.KeepAlive(args) // the block holds addresses, the tensors the memory
	return wrap(op, err)
}

// address is where the first element is, as kernels see it.
func (t *Tensor) address() (uint64, error) {
	if t.buf == nil {
		return 0, nil
	}
	if t.buf.Freed() {
		return 0, runtime.ErrFreed
	}
	return t.buf.Addr() + uint64(t.dtype.Bytes(t.layout.Offset())), nil
}

func align(b []byte, to int) []byte {
	for len(b)%to != 0 {
		b = append(b, 0)
	}
	return b
}

// numberBits returns a number as memory has it.
func numberBits(v reflect.Value) (size int, bits uint64, ok bool) {
	switch k := v.Kind(); {
	case k == reflect.Float32:
		return 4, uint64(math.Float32bits(float32(v.Float()))), true
	case k == reflect.Float64:
		return 8, math.Float64bits(v.Float()), true
	case v.CanInt():
		return int(v.Type().Size()), uint64(v.Int()), true
	case v.CanUint():
		return int(v.Type().Size()), v.Uint(), true
	case k == reflect.Bool && v.Bool():
		return 1, 1, true
	case k == reflect.Bool:
		return 1, 0, true
	}
	return 0, 0, false
}
