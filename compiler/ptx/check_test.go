package ptx

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/internal/devlog"
)

// checkKernel has a body that breaks rules in the thread with index n.
func checkKernel(body string) string {
	return `module "k"
checked

kernel @k(%out: ptr<global,i32>, %len: i64, %n: i64, %x: i64, %y: i64) args(out slice i32 "[]int32", n scalar i64 "int", x scalar i64 "int", y scalar i64 "int") {
b0:
  %t = thread 0 : i64
  %is = eq %t, %n : bool
  br %is, b1, b2
b1:
` + body + `  jump b2
b2:
  barrier
  %p = offset %out, %t : ptr<global,i32>
  %v = convert %t : i32
  store %p, %v
  ret
}
pos !1 "k.go" 7 2
pos !2 "k.go" 8 2
`
}

// A failure ends the thread that it is in, reports what the interpreter reports, and lets
// the others go on, past a barrier too.
func TestChecks(t *testing.T) {
	convert := func(x string, typ string) string { return "  %a = convert " + x + " : " + typ + "\n" }
	two := func(typ string) string { return convert("%x", typ) + "  %b = convert %y : " + typ + "\n" }
	for _, c := range []struct {
		body, want string
		x, y       int64
	}{
		{"  bounds %x, %y !1\n", "index out of range [4] with length 4", 4, 4},
		{"  bounds %x, %y !1\n", "index out of range [-4]", -4, 4},
		{"  bounds %x, %y, 128 !1\n", "index out of range [18446744073709551612] with length 4", -4, 4},
		{"  bounds %x, %y, 3 !1\n", "slice bounds out of range [5:4]", 5, 5},
		{"  bounds %x, %y !1\n  bounds %y, %x, 2 !2\n", "slice bounds out of range [:5] with capacity 3", 4, 5},
		{two("i32") + "  divisor %a, %b !1\n", "integer divide by zero (dividend -2147483648)", 1 << 31, 1 << 32},
		{two("i8") + "  divisor %a, %b !1\n", "integer divide by zero (dividend -128)", 128, 256},
		{two("u16") + "  divisor %a, %b !1\n", "integer divide by zero (dividend 65535)", -1, 0},
		{"  divisor %x, %y !1\n", "integer divide by zero (dividend -9223372036854775808)", -1 << 63, 0},
		{two("u64") + "  divisor %a, %b !1\n", "integer divide by zero (dividend 9223372036854775808)", -1 << 63, 0},
		{"  %a = eq %x, %y : bool\n  nonnil %a !1\n", "invalid memory address or nil pointer dereference", 1, 2},
		{"  count %x !1\n", "negative shift amount (-1)", -1, 0},
		{convert("%x", "i8") + "  count %a !1\n", "negative shift amount (-1)", 255, 0},
		{convert("%x", "i16") + "  count %a !2\n", "negative shift amount (-32768)", 32768, 0},
		{two("i32") + "  bounds %x, %y !1\n  divisor %a, %b !1\n  count %a !2\n", "", 3, 4},
	} {
		text := checkKernel(c.body)
		args := argWords(1<<32, 8, 5, uint64(c.x), uint64(c.y), 2<<32, devlog.Counts, 2<<32+devlog.CountBytes, 100, 3<<32|7)
		want := ""
		if c.want != "" {
			at := ":7"
			if strings.HasSuffix(strings.Split(c.body, "  jump")[0], "!2\n") {
				at = ":8"
			}
			want = "k.go" + at + ": kernel k: block (0,0,0), thread (5,0,0): " + c.want
		}
		for _, arch := range []string{"sm_70", "sm_90"} {
			out, log := make([]byte, 4*8), make([]byte, devlog.CountBytes+8*100)
			m := parse(t, text)
			sites := pass.LowerLog(m, true)
			require.NoError(t, ir.Verify(m))
			code, err := Emit(m, mustTarget(t, arch))
			require.NoError(t, err)
			require.NoError(t, simulate(code, [3]int{1, 1, 1}, [3]int{8, 1, 1}, args, [][]byte{out, log}), code)
			require.Equal(t, want, failure(t, m, sites, log), c.body)
			for i := range uint32(8) {
				if v := binary.LittleEndian.Uint32(out[4*i:]); i != 5 || want == "" {
					require.Equal(t, i, v)
				} else {
					require.Zero(t, v, "the thread went on")
				}
			}
			if a := findAssembler(); a != nil && a.archs[arch] {
				assemble(t, arch, code)
			}
		}
		require.Equal(t, want, interpreted(t, text, args), "in the interpreter")
	}
}

func argWords(list ...uint64) (b []byte) {
	for _, w := range list {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// failure returns the error that a log holds.
func failure(t *testing.T, m *ir.Module, sites []devlog.Site, log []byte) string {
	for i := range sites {
		if at := m.PosOf(sites[i].Pos); at.Line > 0 {
			sites[i].Place = at.File + ":" + string(rune('0'+at.Line))
		}
	}
	_, words := logWords(log)
	records := devlog.Read(words, nil, func(uint32) *devlog.Log { return &devlog.Log{Kernel: "k", Sites: sites} })
	if len(records) == 0 {
		return ""
	}
	require.Len(t, records, 1)
	return (&devlog.Failure{Record: records[0]}).Error()
}

// interpreted returns the error of the kernel in the interpreter, "" for none.
func interpreted(t *testing.T, text string, args []byte) string {
	p, err := interp.Load("k", []byte(text))
	require.NoError(t, err)
	out := make([]uint64, 4) // of 8 bytes, for the alignment
	args = slices.Clone(args[:5*8])
	binary.LittleEndian.PutUint64(args, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(out)))))
	if err := p.Run(interp.Launch{Grid: [3]int{1}, Block: [3]int{8}, Args: args}); err != nil {
		return err.Error()
	}
	return ""
}
