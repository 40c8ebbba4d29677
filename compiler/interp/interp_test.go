package interp

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// load makes a program of IR text.
func load(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Load("test", []byte(text))
	require.NoError(t, err)
	return p
}

// pack makes an argument block. A slice is a pointer and a length.
func pack(args ...any) []byte {
	var b []byte
	align := func(n int) {
		for len(b)%n != 0 {
			b = append(b, 0)
		}
	}
	slice := func(p unsafe.Pointer, n int) {
		align(8)
		b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(p)))
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, a := range args {
		switch a := a.(type) {
		case []float32:
			slice(unsafe.Pointer(unsafe.SliceData(a)), len(a))
		case []float64:
			slice(unsafe.Pointer(unsafe.SliceData(a)), len(a))
		case []int32:
			slice(unsafe.Pointer(unsafe.SliceData(a)), len(a))
		case []uint32:
			slice(unsafe.Pointer(unsafe.SliceData(a)), len(a))
		case []int64:
			slice(unsafe.Pointer(unsafe.SliceData(a)), len(a))
		case []uint64:
			slice(unsafe.Pointer(unsafe.SliceData(a)), len(a))
		case []byte:
			slice(unsafe.Pointer(unsafe.SliceData(a)), len(a))
		case bool:
			b = append(b, byte(b2u(a)))
		case uint16:
			align(2)
			b = binary.LittleEndian.AppendUint16(b, a)
		case float32:
			align(4)
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(a))
		case int32:
			align(4)
			b = binary.LittleEndian.AppendUint32(b, uint32(a))
		case int:
			align(8)
			b = binary.LittleEndian.AppendUint64(b, uint64(a))
		default:
			panic(fmt.Sprintf("pack: %T", a))
		}
	}
	return b
}

// run executes a program on a one-dimensional grid.
func run(t testing.TB, p *Program, blocks, threads int, args ...any) {
	t.Helper()
	require.NoError(t, tryRun(p, blocks, threads, args...))
}

func tryRun(p *Program, blocks, threads int, args ...any) error {
	err := p.Run(Launch{Grid: [3]int{blocks}, Block: [3]int{threads}, Args: pack(args...)})
	runtime.KeepAlive(args)
	return err
}

// global is the start of kernels that work on element %i, in their first block.
const global = `
  %b = block 0 : i64
  %bd = blockdim 0 : i64
  %bo = mul %b, %bd : i64
  %t = thread 0 : i64
  %i = add %bo, %t : i64
`

const saxpy = `
module "m"
kernel @Saxpy(%y: ptr<global,f32>, %yn: i64, %x: ptr<global,f32>, %xn: i64, %a: f32) args(y slice f32 "[]float32", x slice f32 "[]float32", a scalar f32 "float32") {
b0:` + global + `
  %gd = griddim 0 : i64
  %stride = mul %gd, %bd : i64
  jump b1(%i)
b1(%j: i64):
  %c = lt %j, %yn : bool
  br %c, b2, b3
b2:
  bounds %j, %xn
  %px = offset %x, %j : ptr<global,f32>
  %vx = load %px : f32
  %ax = mul %a, %vx : f32
  bounds %j, %yn
  %py = offset %y, %j : ptr<global,f32>
  %vy = load %py : f32
  %s = add %ax, %vy : f32
  store %py, %s
  %k = add %j, %stride : i64
  jump b1(%k)
b3:
  ret
}
`

func TestSaxpy(t *testing.T) {
	p := load(t, saxpy)
	for _, n := range []int{0, 1, 31, 33, 255, 1000, 4097} {
		for _, shape := range [][2]int{{1, 1}, {1, 32}, {3, 64}, {5, 100}, {16, 1024}} {
			x, y := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], y[i] = float32(i), float32(i)*0.5
			}
			run(t, p, shape[0], shape[1], y, x, float32(2))
			for i := range y {
				require.Equal(t, float32(i)*2.5, y[i], "n %d, shape %v, element %d", n, shape, i)
			}
		}
	}
}

func TestBoundsError(t *testing.T) {
	p := load(t, strings.Replace(saxpy, "bounds %j, %xn", "bounds %j, %xn !1", 1)+`pos !1 "k/saxpy.go" 12 3`)
	x, y := make([]float32, 70), make([]float32, 100)
	err := tryRun(p, 2, 64, y, x, float32(1))
	var ke *KernelError
	require.ErrorAs(t, err, &ke)
	require.Equal(t, "k/saxpy.go:12: kernel Saxpy: block (1,0,0), thread (6,0,0): index out of range [70] with length 70", err.Error())
}
