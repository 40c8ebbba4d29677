package conv

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/runtime"
)

// pixelTiles are the configurations with bulk copies of pixels. A stage of the input is as many pixels as
// a tile has rows.
var pixelTiles = []tile.Config{
	{M: 128, N: 256, Down: 8, Across: 1, Stages: 4},
	{M: 192, N: 128, Down: 12, Across: 1, Stages: 4},
	{M: 128, N: 128, Down: 8, Across: 1, Stages: 6},
	{M: 256, N: 64, Down: 16, Across: 1, Stages: 4},
	{M: 128, N: 64, Down: 8, Across: 1, Stages: 8},
	{M: 64, N: 128, Down: 4, Across: 1, Stages: 8},
	{M: 64, N: 64, Down: 4, Across: 1, Stages: 8},
}

// pixelRows are the strategies with bulk copies of pixels: each configuration also with clusters, for
// long sums of many tiles.
func pixelRows() (list []ops.Strategy[convolution]) {
	for _, cluster := range []dsl.ConstInt{2, 1} {
		for i, c := range pixelTiles {
			if c.Bulk, c.Cluster = true, cluster; cluster > 1 && c.M <= 64 {
				continue
			}
			name := fmt.Sprintf("matrix tiles of %dx%d from pixels", c.M, c.N)
			if cluster > 1 {
				name += fmt.Sprintf(", clusters of %d", cluster)
			}
			list = append(list, ops.Strategy[convolution]{
				Name: name,
				Fits: func(v *convolution) bool { return v.bestPixels() == i && v.fillsCluster(&c) },
				Run:  func(s *runtime.Stream, v *convolution) error { return runImplicit(s, v, c, 1, true) },
			})
		}
	}
	return list
}

// fillsCluster reports whether there are sums enough for a configuration's clusters.
func (v *convolution) fillsCluster(c *tile.Config) bool {
	return c.Cluster == 1 || matmul.WorthClusters(v.K, v.pixelCount(c), v.Info.Units)
}

// pixels reports whether bulk copies of pixels pay: few of the channels of a stage are zeros.
func (v *convolution) pixels() bool {
	stage := tile.RowBytes / v.A.DType.Size()
	return v.implicit() && v.warpgroups && v.whyNotPixels() == "" && ops.RoundUp(v.window.Channels, stage)*3 <= v.window.Channels*4
}

// whyNotPixels is why no map describes the pixels that a convolution meets.
func (v *convolution) whyNotPixels() string {
	w, m := &v.window, v.pixelMap(1)
	if v.groups() > 1 && w.Channels%(tile.RowBytes/m.Elem) != 0 {
		return "the channels of a group are no whole stages"
	}
	for a := range kernels.Axes {
		if bool(w.Transposed) && w.Stride[a] > 1 {
			return "strides of transposed convolutions leave positions out"
		}
		if (w.Kernel[a]-1)*w.Dilation[a] > runtime.MaxPixelOffset(m.Axes) {
			return "the kernel reaches too far"
		}
	}
	return m.Bad()
}

// pixelMap describes pixels of the input, of which a copy takes so many: all but where they are.
func (v *convolution) pixelMap(pixels int) runtime.PixelMap {
	w := &v.window
	m := runtime.PixelMap{Elem: v.A.DType.Size(), Axes: int(v.rank()), Channels: w.Channels, Images: v.Batches[0].Shape()[0], Pixels: pixels}
	for a := range m.Axes {
		from := kernels.Axes - 1 - a
		first, stride, _, back := v.moves(from)
		m.Sizes[a], m.First[a], m.Count[a], m.Step[a] = w.In[from], first+back, w.Out[from], stride
	}
	return m
}

// pixelCount is how many tiles there are.
func (v *convolution) pixelCount(c *tile.Config) int {
	down := ops.RoundUp((v.N*v.Batches[0].Shape()[0]+int(c.M)-1)/int(c.M), int(c.Cluster))
	return down * ((v.M + int(c.N) - 1) / int(c.N)) * v.groups()
}

// Rates of a multiprocessor of an H200, as products of matrices show them, and what a tile takes beside
// its stages.
const (
	operationsPerNs = 5400.
	bytesPerNs      = 58. // from L2
	nsPerTile       = 700.
)

// bestPixels is the number of the configuration that is estimated to be the fastest, -1 if bulk copies of
// pixels do not pay: stages are multiplied while the next ones are copied. All rows of strategies ask.
func (v *convolution) bestPixels() int {
	if v.best == nil {
		i := -1
		if v.pixels() {
			i = v.leastTime()
		}
		v.best = &i
	}
	return *v.best
}

func (v *convolution) leastTime() (best int) {
	least := 0.
	for i, c := range pixelTiles {
		c.Cluster = 1
		stage := max(float64(int(c.M*c.N)*2*tile.RowBytes/2)/operationsPerNs, float64((c.M+c.N)*tile.RowBytes)/bytesPerNs)
		whole := float64(v.K*v.A.DType.Size())/tile.RowBytes*stage + nsPerTile
		rounds := (v.pixelCount(&c) + v.Info.Units - 1) / v.Info.Units
		if time := float64(rounds) * whole; i == 0 || time < least {
			best, least = i, time
		}
	}
	return best
}

// mapPixels decides whether the input is copied in bulk, and makes the map for copies of so many pixels.
func (f *implicitFactors) mapPixels(dev *runtime.Device, c *tile.Config, pixels int) (err error) {
	if !c.Bulk {
		return nil
	}
	m, x := f.pixelMap(pixels), f.x.Layout.Strides()
	m.Addr, m.Channels = f.x.Addr(), f.groups()*f.x.Layout.Shape()[5]
	next := m.Channels * m.Elem
	for a := range m.Axes {
		if m.Strides[a] = x[kernels.Axes-a] * m.Elem; m.Sizes[a] == 1 {
			m.Strides[a] = next
		}
		next = m.Strides[a] * m.Sizes[a]
	}
	if m.Strides[3] = x[0] * m.Elem; m.Images == 1 {
		m.Strides[3] = next
	}
	f.xMap, err = dev.EncodePixelMap(m)
	return f.unless(err, c)
}

// mapWeights makes the map of the weights, and that of the result where rows of it can be stored so.
func (f *implicitFactors) mapWeights(dev *runtime.Device, c *tile.Config) (err error) {
	if !c.Bulk {
		return nil
	}
	size, y, u := f.A.DType.Size(), f.y.Layout.Strides(), &f.weights
	k := f.y.Layout.Shape()[2:].Count()
	m := runtime.TensorMap{Addr: f.y.Addr(), Elem: size, Sizes: [3]int{k, f.M, f.groups()}, Strides: [2]int{y[1] * size, y[0] * size}, Box: [3]int{int(c.K), int(c.N / c.Cluster), 1}}
	if f.M == 1 {
		m.Strides[0] = k * size
	}
	if f.groups() == 1 {
		m.Strides[1] = m.Strides[0] * f.M
	}
	if f.yMap, err = dev.EncodeTensorMap(m); err != nil {
		return f.unless(err, c)
	}
	g, columns, staging := f.product(c), tile.RowBytes/size, int(c.Warps())*2*f.matrixRows*tile.RowBytes
	row, plane := g.Out*size, g.OutGroup*size
	if f.groups() == 1 {
		plane = row * g.M
	}
	if !bool(g.Flat) || u.OutChannel != 1 || int(c.N)%columns != 0 || !ops.Multiples(16, row, plane, f.M*size, int(f.Out.Addr())) || row < f.M*size || f.shared(c)+staging > f.Info.SharedPerBlock {
		return nil
	}
	c.OutSize = dsl.ConstInt(size)
	f.outMap, err = dev.EncodeTensorMap(runtime.TensorMap{Addr: f.Out.Addr(), Elem: size, Sizes: [3]int{f.M, g.M, f.groups()}, Strides: [2]int{row, plane}, Box: [3]int{columns, f.matrixRows, 1}, Stores: true})
	return err
}

// unless takes back bulk copies if the device has no maps.
func (f *implicitFactors) unless(err error, c *tile.Config) error {
	if errors.Is(err, errors.ErrUnsupported) {
		c.Bulk, c.Cluster, err = false, 1, nil
	}
	return err
}

// shared is how many bytes of shared memory the stages of a block take.
func (v *convolution) shared(c *tile.Config) int {
	n := c.Shared() * v.A.DType.Size()
	if c.Bulk {
		n += tile.BarrierBytes
	}
	return n
}
