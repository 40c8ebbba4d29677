package tensor_test

import (
	"bufio"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// cases are those of testdata/cases.txt that are this package's, by number.
var cases = map[int]func(c *caseTest){}

// caseTest is one case on one device.
type caseTest struct {
	*testing.T
	d *tensor.Device
}

// register adds cases of one file; a number that is there already is a mistake.
func register(more map[int]func(c *caseTest)) bool {
	for n, f := range more {
		if cases[n] != nil {
			panic("case " + strconv.Itoa(n) + " is there twice")
		}
		cases[n] = f
	}
	return true
}

// TestCases runs every case of the list that is this package's, and none else, on the
// machine's best device and on the interpreter, without which a -short run does.
func TestCases(t *testing.T) {
	places, names := caseList(t)
	for _, n := range slices.Sorted(maps.Keys(cases)) {
		require.Contains(t, strings.Split(places[n], ","), "tensor", "case %d is here", n)
	}
	devices := []string{"auto", "cpu:interp"}
	if testing.Short() {
		devices = devices[:1]
	}
	for _, device := range devices {
		d, err := tensor.Open(device)
		require.NoError(t, err)
		for n := 1; n <= len(places); n++ {
			if slices.Contains(strings.Split(places[n], ","), "tensor") {
				runCase(t, d, n, device+"/"+strconv.Itoa(n)+" "+names[n])
			}
		}
		require.NoError(t, d.Close())
	}
}

func runCase(t *testing.T, d *tensor.Device, n int, name string) {
	t.Run(name, func(t *testing.T) {
		require.NotNil(t, cases[n], "there is no case %d", n)
		cases[n](&caseTest{t, d})
	})
}

// caseList reads where each case is checked, and what it is about.
func caseList(t *testing.T) (places, names map[int]string) {
	f, err := os.Open("testdata/cases.txt")
	require.NoError(t, err)
	defer f.Close()
	places, names = map[int]string{}, map[int]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		number, rest, _ := strings.Cut(lines.Text(), " ")
		if number == "#" {
			continue
		}
		n, err := strconv.Atoi(number)
		require.NoError(t, err, lines.Text())
		require.Equal(t, len(places)+1, n, "a number is missing in the list")
		places[n], names[n], _ = strings.Cut(rest, " ")
		require.Contains(t, []string{"tensor", "tensor,nn", "nn", "quantized"}, places[n], lines.Text())
	}
	require.Len(t, places, 121)
	return places, names
}

// f32 returns a tensor of float32.
func (c *caseTest) f32(shape []int, data ...float32) *tensor.Tensor {
	c.Helper()
	x := tensor.From(c.d, data, shape...)
	require.NoError(c, x.Err())
	return x
}

// variable is f32 of a variable.
func (c *caseTest) variable(shape []int, data ...float32) *tensor.Tensor {
	c.Helper()
	return tensor.NewVar(c.f32(shape, data...)).Tensor()
}

// upTo is the numbers from 0 on in a shape.
func (c *caseTest) upTo(shape ...int) *tensor.Tensor { return count(c.d, shape...) }

// is checks the exact numbers of a tensor.
func (c *caseTest) is(x *tensor.Tensor, shape tensor.Shape, want ...float32) {
	c.Helper()
	require.NoError(c, x.Err())
	require.Equal(c, shape.String(), x.Shape().String())
	got := list[float32](c.T, x.Cast(tensor.F32))
	require.Len(c, got, len(want))
	for i := range want {
		require.True(c, got[i] == want[i], "%v: element %d is %v, want %v", got, i, got[i], want[i])
	}
}

// near checks numbers that were rounded to some digits.
func (c *caseTest) near(digits int, x *tensor.Tensor, want ...float64) {
	c.Helper()
	require.NoError(c, x.Err())
	got := list[float32](c.T, x.Cast(tensor.F32))
	require.Len(c, got, len(want))
	for i, w := range want {
		unit := math.Pow(10, -float64(digits))
		require.InDelta(c, w, got[i], 0.51*unit+1e-6*math.Abs(w), "element %d of %v", i, got)
	}
}

// gradients returns the gradients of the sum of y.
func (c *caseTest) gradients(y *tensor.Tensor) *tensor.Gradients {
	c.Helper()
	g, err := y.Backward()
	require.NoError(c, err)
	return g
}

// layouts returns a tensor in several layouts.
func layouts(x *tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{x, laid(x, "transposed"), laid(x, "narrowed"), laid(x, "broadcast")}
}
