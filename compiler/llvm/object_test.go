package llvm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

const objectText = `module "m"
shared 0 "tile" [33]f32
kernel @k.Mix(%0: bool, %1: ptr<global,f32>, %2: i64, %3: u8, %4: i8, %5: f64, %6: i16) args(on scalar bool "bool", xs slice f32 "[]float32", n scalar u8 "uint8", s struct {i8,f64,i16} "S") {
b0:
  %7 = thread 0 : i64
  %8 = shared 0 : ptr<shared,[33]f32>
  %9 = index %8, %7 : ptr<shared,f32>
  %10 = convert %5 : f32
  store %9, %10
  barrier
  %11 = convert %4 : i64
  %12 = index %8, %11 : ptr<shared,f32>
  %13 = load %12 : f32
  %14 = convert %3 : f32
  %15 = convert %6 : f32
  %16 = select %0, %14, %15 : f32
  %17 = mul %13, %16 : f32
  %18 = offset %1, %7 : ptr<global,f32>
  store %18, %17
  ret
}
`

// argument is what the metadata of a code object say of an argument.
type argument struct{ offset, size, kind string }

// notes reads what llvm-readelf prints of a code object: its explicit arguments
// and the other values of the kernel.
func notes(text string) (args []argument, values map[string]string) {
	values = map[string]string{}
	line := regexp.MustCompile(`^\s*(- )?\.(\w+):\s*(\S*)`)
	for l := range strings.Lines(text) {
		m := line.FindStringSubmatch(l)
		switch {
		case m == nil:
		case m[2] == "address_space" && m[1] != "", m[2] == "name" && m[1] != "", m[2] == "offset" && m[1] != "":
			args = append(args, argument{})
		}
		switch {
		case m == nil:
		case m[2] == "offset":
			args[len(args)-1].offset = m[3]
		case m[2] == "size":
			args[len(args)-1].size = m[3]
		case m[2] == "value_kind":
			args[len(args)-1].kind = m[3]
		default:
			values[m[2]] = m[3]
		}
	}
	for i, a := range args {
		if strings.HasPrefix(a.kind, "hidden_") {
			return args[:i], values
		}
	}
	return args, values
}

// TestCodeObject looks into code objects for what a driver needs of them.
func TestCodeObject(t *testing.T) {
	for _, c := range []struct{ arch, wave string }{{"gfx90a", "64"}, {"gfx942", "64"}, {"gfx1030", "32"}, {"gfx1100", "32"}, {"gfx1201", "32"}} {
		t.Run(c.arch, func(t *testing.T) {
			readelf := tool(t, "llvm-readelf")
			m := parse(t, objectText)
			text, err := Emit(m, mustTarget(t, c.arch))
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "k.hsaco")
			require.NoError(t, os.WriteFile(file, assemble(t, c.arch, text), 0o600))
			out, err := exec.Command(readelf, "--dyn-syms", "--notes", file).Output()
			require.NoError(t, err)
			require.Regexp(t, `FUNC +GLOBAL PROTECTED +\d+ k\$2eMix\b`, string(out))
			require.Regexp(t, ` 64 OBJECT +GLOBAL [A-Z]+ +\d+ k\$2eMix\.kd\b`, string(out))
			require.Contains(t, string(out), "amdhsa.target:   amdgcn-amd-amdhsa--"+c.arch)

			args, values := notes(string(out))
			offsets, size := m.Kernel().ParamOffsets()
			require.Equal(t, 56, size)
			var explicit []argument
			for i, p := range m.Kernel().Params {
				kind := "by_value"
				if p.Type.IsPtr() {
					kind = "global_buffer"
				}
				explicit = append(explicit, argument{fmt.Sprint(offsets[i]), fmt.Sprint(p.Type.Size()), kind})
			}
			var got []argument // without the padding
			for _, a := range args {
				for _, e := range explicit {
					if a.offset == e.offset {
						got = append(got, a)
					}
				}
			}
			require.Equal(t, explicit, got)
			last := args[len(args)-1]
			require.Equal(t, "by_value", last.kind)
			require.Equal(t, c.wave, values["wavefront_size"])
			require.Equal(t, fmt.Sprint(ir.ArrayOf(33, ir.F32).Size()), values["group_segment_fixed_size"])
			require.Equal(t, "1024", values["max_flat_workgroup_size"])
			require.Equal(t, "8", values["kernarg_segment_align"])
			require.Equal(t, "k$2eMix.kd", strings.Trim(values["symbol"], "'"))
			require.Equal(t, "0", values["private_segment_fixed_size"])
		})
	}
}

// TestExact looks for instructions that keep to the IR's rounding.
func TestExact(t *testing.T) {
	text := `module "m"
kernel @k(%0: ptr<global,f32>, %1: i64, %2: f32, %3: f32) args(o slice f32 "[]float32", x scalar f32 "float32", y scalar f32 "float32") {
b0:
  %4 = mul %2, %3 : f32
  %5 = add %4, %2 : f32
  %6 = div %5, %3 : f32
  %7 = sqrt %6 : f32
  store %0, %7
  ret
}
`
	for arch, want := range map[string][]string{
		"sm_90": {"mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"},
	} {
		ll, err := Emit(parse(t, text), mustTarget(t, arch))
		require.NoError(t, err)
		got := string(assemble(t, arch, ll))
		for _, w := range want {
			require.Contains(t, got, w)
		}
		require.NotContains(t, got, "fma")
	}
	// The sequence for division scales, and that for square roots corrects the
	// hardware's by multiplications of its own.
	ll, err := Emit(parse(t, text), mustTarget(t, "gfx942"))
	require.NoError(t, err)
	cmd := exec.Command(tools(t, mustTarget(t, "gfx942")).LLC, "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-O3", "-o", "-")
	cmd.Stdin = strings.NewReader(ll)
	out, err := cmd.Output()
	require.NoError(t, err)
	for _, w := range []string{"v_mul_f32", "v_add_f32", "v_div_scale_f32", "v_div_fmas_f32", "v_div_fixup_f32", "v_sqrt_f32", ".amdhsa_float_denorm_mode_32 3", ".amdhsa_float_denorm_mode_16_64 3"} {
		require.Contains(t, string(out), w)
	}
	_, root, _ := strings.Cut(string(out), "v_sqrt_f32")
	require.GreaterOrEqual(t, strings.Count(root, "v_fma_f32"), 2)
}
