package hostargs

import (
	"encoding/binary"
	"math"
	"reflect"
	"runtime"
	"unsafe"
)

// align is what copies begin at a multiple of, as memory of devices does.
const align = 16

// Args are arguments of a launch.
type Args struct {
	// Values are copies of the slices, and the numbers as they were.
	Values []any
	pin    runtime.Pinner
}

// Copy copies the slices among the arguments to where code may write to them.
func Copy(args ...any) *Args {
	a := &Args{Values: make([]any, len(args))}
	for i, arg := range args {
		v := reflect.ValueOf(arg)
		if v.Kind() == reflect.Slice {
			v = a.copied(v)
		}
		a.Values[i] = v.Interface()
	}
	return a
}

// copied returns a copy of a slice that stays where it is.
func (a *Args) copied(s reflect.Value) reflect.Value {
	words := make([]uint64, s.Len()*int(s.Type().Elem().Size())/8+1+align/8)
	a.pin.Pin(&words[0])
	at := unsafe.Pointer(&words[uintptr(unsafe.Pointer(&words[0]))%align/8])
	out := reflect.SliceAt(s.Type().Elem(), at, s.Len())
	reflect.Copy(out, s)
	return out.Convert(s.Type())
}

// Close lets the memory go.
func (a *Args) Close() { a.pin.Unpin() }

// Block returns the arguments as one block: each at its natural alignment, a slice as
// address and length. It is as long as the arguments are, and as valid as they are.
func (a *Args) Block() []byte {
	var block []byte
	for _, arg := range a.Values {
		v := reflect.ValueOf(arg)
		if v.Kind() != reflect.Slice {
			b := Number(arg)
			block = append(padded(block, len(b)), b...)
			continue
		}
		block = binary.LittleEndian.AppendUint64(padded(block, 8), uint64(uintptr(v.UnsafePointer())))
		block = binary.LittleEndian.AppendUint64(block, uint64(v.Len()))
	}
	return block
}

func padded(block []byte, n int) []byte {
	for len(block)%n != 0 {
		block = append(block, 0)
	}
	return block
}

// Number returns the bytes of a number or a bool.
func Number(arg any) []byte {
	v := reflect.ValueOf(arg)
	size := int(v.Type().Size())
	var bits uint64
	switch {
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			bits = 1
		}
	case v.CanInt():
		bits = uint64(v.Int())
	case v.CanUint():
		bits = v.Uint()
	case size == 4:
		bits = uint64(math.Float32bits(float32(v.Float())))
	default:
		bits = math.Float64bits(v.Float())
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:size]
}

// Bytes views the memory of a slice.
func Bytes(slice any) []byte {
	v := reflect.ValueOf(slice)
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size()))
}
