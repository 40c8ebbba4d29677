package conv

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// TestPixelMaps goes over the pixels of maps as the device does, and finds those that the kernel meets:
// of random convolutions and transposed ones over one to three axes.
func TestPixelMaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 2000 {
		v := convolution{}
		v.A.DType = dtype.BF16
		w, rank := &v.window, 1+rng.IntN(kernels.Axes)
		inputs, transposed := 1+rng.IntN(3), rng.IntN(2) == 0
		w.Transposed, w.Channels = dsl.ConstBool(transposed), 64
		for a := range kernels.Axes {
			w.In[a], w.Out[a], w.Kernel[a], w.Stride[a], w.Dilation[a] = 1, 1, 1, 1, 1
			if a < kernels.Axes-rank {
				continue
			}
			w.Kernel[a], w.Pad[a], w.Dilation[a] = 1+rng.IntN(4), rng.IntN(4), 1+rng.IntN(3)
			reach := (w.Kernel[a]-1)*w.Dilation[a] + 1
			if w.In[a] = max(2+rng.IntN(9), reach-2*w.Pad[a], 1); transposed {
				w.In[a] = max(w.In[a], 2*w.Pad[a]-reach+3)
				w.Out[a] = w.In[a] - 2*w.Pad[a] + reach - 1
			} else {
				w.Stride[a] = 1 + rng.IntN(3)
				w.Out[a] = (w.In[a]+2*w.Pad[a]-reach)/w.Stride[a] + 1
			}
		}
		v.Batches[0], _ = layout.New(layout.Shape{inputs, 1}, []int{1, 1}, 0)
		if why := v.whyNotPixels(); why != "" {
			seen[why[:9]]++
			continue
		}
		seen[fmt.Sprint(rank, transposed)]++
		m := v.pixelMap(64)
		g := kernels.Implicit{Image: ops.Divisor(w.Out[0] * w.Out[1] * w.Out[2]), Rank: v.rank(), Kernel: w.Kernel, In: w.In}
		for a := range kernels.Axes {
			g.OutDiv[a], g.KernelDiv[a] = ops.Divisor(w.Out[a]), ops.Divisor(w.Kernel[a])
			g.First[a], g.Stride[a], g.Step[a], g.Back[a] = v.moves(a)
		}
		g.Channels = ops.Divisor(64)
		count := inputs * int(g.Image.By)
		begin := rng.IntN(count)
		from := g.Pixel(0, begin)
		k := rng.IntN(w.Kernel[0]*w.Kernel[1]*w.Kernel[2]) * 64
		moved := g.Move(from, k)
		at, image := from.At, from.Image
		for row := begin; row < count; row++ {
			require.Equal(t, row/int(g.Image.By), image)
			position, tap := row%int(g.Image.By), k/64
			for a := kernels.Axes - 1; a >= 0; a-- {
				p, q := position%w.Out[a], tap%w.Kernel[a]
				position, tap = position/w.Out[a], tap/w.Kernel[a]
				want := p*w.Stride[a] - w.Pad[a] + q*w.Dilation[a]
				if transposed {
					want = p + w.Pad[a] - q*w.Dilation[a]
				}
				i := kernels.Axes - 1 - a
				require.Equal(t, want, at[i]+moved.Offset[i], "%+v, axis %d", w, a)
				require.GreaterOrEqual(t, moved.Offset[i], 0)
			}
			i := 0
			for ; i < m.Axes; i++ {
				lower, upper := m.Corners(i)
				if at[i] += m.Step[i]; at[i] < m.Sizes[i]+upper {
					break
				}
				at[i] = lower
			}
			if i == m.Axes {
				image++
			}
		}
	}
	require.Greater(t, seen["1 true"], 100)
	require.Greater(t, seen["2 true"], 100)
	require.Greater(t, seen["3 false"], 100, "%v", seen)
}
