package tensor_test

import (
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// Random numbers that cases of convolutions share.
var (
	row20 = []float32{.4056, -.8689, -.0773, -1.5630, 1.2279, -.9287, -1.7030, .1370, .1866, .4145,
		1.8025, -.1536, 2.2013, -.6836, .2477, 1.3127, -.6957, .3278, -1.0124, .5599}
	kernel24 = []float32{-.8404, -.3490, .0130, 1.3123, .1763, -1.9249, 1.4270, .9421, .8670, -.7181, -1.1111, .8869,
		-1.2429, 1.8357, 1.6052, -1.3844, .3951, -1.2036, .6686, 1.6261, -.6451, -.0840, -1.4247, .5512}
	channels64 = []float32{1.9269, 1.4873, .9007, -2.1055, .6784, -1.2345, -.0431, -1.6047, -.7521, 1.6487, -.3925, -1.4036,
		-.7279, -.5594, -.7688, .7624, 1.6423, -.1596, -.4974, .4396, -.7581, 1.0783, .8008, 1.6806, 1.2791, 1.2964, .6105, 1.3347,
		-.2316, .0418, -.2516, .8599, -1.3847, -.8712, -.2234, 1.7174, .3189, -.4245, .3057, -.7746, -1.5576, .9956, -.8798, -.6011,
		-1.2742, 2.1228, -1.2347, -.4879, -.9138, -.6581, .0780, .5258, -.4880, 1.1914, -.8140, -.7360, -1.4032, .0360, -.0635, .6756,
		-.0978, 1.8446, -1.1845, 1.3835}
	image100 = []float32{.4056, -.8689, -.0773, -1.5630, -2.8012, -1.5059, .3972, 1.0852, .4997, 3.0616,
		1.6541, .0964, -.8338, -1.6523, -.8323, -.1699, .0823, .3526, .6843, .2395,
		1.2279, -.9287, -1.7030, .1370, .6047, .3770, -.6266, .3529, 2.2013, -.6836,
		.2477, 1.3127, -.2260, .2622, -1.2974, -.8140, -.8404, -.3490, .0130, 1.3123,
		1.7569, -.3956, -1.8255, .1727, -.3538, 2.6941, 1.0529, .4219, -.2071, 1.1586,
		.4717, .3865, -.5690, -.5010, -.1310, .7796, .6630, -.2021, 2.6090, .2049,
		.6466, -.5042, -.0603, -1.6538, -1.2429, 1.8357, 1.6052, -1.3844, .3323, -1.3712,
		.9634, -.4799, -.6451, -.0840, -1.4247, .5512, -.1747, -.5509, -.3742, .3790,
		-.4431, -.4720, -.7890, .2620, .7875, .5377, -.6779, -.8088, 1.9098, 1.2006,
		-.8000, -.4983, 1.5480, .8265, -.1025, .5138, .5748, .3821, -.4607, .0085}
	kernel72 = []float32{-.9325, .6451, -.8537, .2378, .8764, -.1832, .2987, -.6488, -.2273,
		-2.4184, -.1192, -.4821, -.5079, -.5766, -2.4729, 1.6734, .4558, .2851, 1.1514, -.9013, 1.0662, -.1817, -.0259, .1709, .5367,
		.7513, .8086, -2.2586, -.5027, .9141, -1.3086, -1.3343, -1.5669, -.1657, .7958, .1432, .3896, -.4501, .1667,
		.0714, -.0952, 1.2970, -.1674, -.3178, 1.0677, .3060, .7080, .1914, 1.1679, -.3602, 1.9265, -1.8626, -.5112, -.0982,
		.2621, .6565, .5908, 1.0089, -.1646, 1.8032, -.6286, .2016, -.3370, 1.2555, .8009, -.6488, -.4652, -1.5685, 1.5860,
		.5583, .4623, .6026}
	image140 = []float32{.4056, -.8689, -.0773, -1.5630, -2.8012, -1.5059, .3972, 1.0852, .4997, 3.0616,
		1.6541, .0964, -.8338, -1.6523, -.8323, -.1699, .0823, .3526, .6843, .2395, 1.2279, -.9287, -1.7030, .1370,
		.6047, .3770, -.6266, .3529, 2.2013, -.6836, .2477, 1.3127, -.2260, .2622, -1.2974, -.8140, -.8404, -.3490, .0130,
		1.3123, 1.7569, -.3956, -1.8255, .1727, -.3538, 2.6941, 1.0529, .4219, -.2071, 1.1586, .4717, .3865, -.5690, -.5010,
		-.1310, .7796, .6630, -.2021, 2.6090, .2049, .6466, -.5042, -.0603, -1.6538, -1.2429, 1.8357, 1.6052, -1.3844, .3323,
		-1.3712, .9634, -.4799, -.6451, -.0840, -1.4247, .5512, -.1747, -.5509, -.3742, .3790, -.4431, -.4720, -.7890, .2620,
		.5411, -1.1715, -2.4997, 2.3249, -.8912, -.4733, -.5701, -2.8888, -1.4112, -.5471, -.9234, -1.1660, .4189, -.7465,
		-.6473, .1402, .7875, .5377, -.6779, -.8088, -.4864, -.2312, .9279, .1264, 1.5480, .8265, -.1025, .5138, -.2512, .1576,
		1.2705, .3641, -.9325, .6451, -.8537, .2378, .1794, .2752, -.3687, -1.1149, -.1410, -.5829, -.0892, 1.4258, -2.2789,
		.5270, .1825, 1.7007, -.5263, -.2954, .4440, .5537, .3492, .6186, 1.6475, .2219}
	kernel120 = []float32{-1.1744, .3266, 2.5893, 1.0142, .1763, .7752, .6604, .2029, -.2145, .7234,
		-.3441, -1.5400, -.6333, .6613, .2083, .6230, -1.7002, .3393, .4049, 1.0762, .2723, 1.4181, .0029, -.2122, 1.7668,
		1.4168, .3320, -.2719, .7932, -.7204, .4447, .1211, .5908, 1.0089, -.1646, 1.8033, -.6286, .2016, -.3370, 1.2555,
		.8009, -.6488, -.4652, -1.5685, 1.5860, .5583, .4623, .6026, .8828, 2.4990, .6811, -.3369, 1.3320, 1.7669, -1.1067,
		1.2958, -.9415, -.9655, -.4462, .7181, .5181, -1.1658, -1.8467, -.7763, 1.2769, .8651, .9890, 1.5092, .7207, -.8481,
		.7417, .3375, -1.2685, 1.4572, 1.0915, .1093, -.8550, -.5831, -.6309, -.2509, .5220, -.0914, .7900, .1096, .3258,
		.2723, -1.0942, -.3393, -.1653, .5732, -.8014, 1.8194, -1.9023, .2127, 1.8636, -.8979, .1927, -.2778, .3105, .0071,
		-1.1823, .2476, -.7178, -1.3821, 1.0769, -.4376, -.9967, -.1227, 1.6197, -1.0604, .1372, .8141, -.6163, .7304, -.8285,
		2.0636, -.7176, .2495, -.2581, -.4478}
)

// each is one number for each of n dimensions.
func each(n, x int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// The cases of convolutions.
var _ = register(map[int]func(c *caseTest){
	59: func(c *caseTest) {
		for _, x := range layouts(c.f32([]int{1, 4, 5}, row20...)) {
			for _, w := range layouts(c.f32([]int{2, 4, 3}, kernel24...)) {
				c.near(4, x.Conv(w, tensor.Convolution{}), 2.6357, -1.3336, 4.1393, -1.1784, 3.5675, .5069)
				c.near(4, x.Conv(w, tensor.Convolution{Padding: []int{1}}),
					2.4509, 2.6357, -1.3336, 4.1393, .5657, 1.8091, -1.1784, 3.5675, .5069, 3.3352)
			}
		}
	},
	60: func(c *caseTest) {
		x, w := c.f32([]int{1, 4, 5}, row20...), c.f32([]int{2, 4, 3}, kernel24...).Transpose(0, 1)
		for _, w := range []*tensor.Tensor{w, w.Contiguous()} {
			c.near(4, x.ConvTranspose(w, tensor.Convolution{}), .0699, -1.2899, 8.3018, 5.5873, 2.4572, -2.6143, -.0706,
				1.8765, 4.8318, 1.1538, 4.7076, -5.9745, -.8276, 1.621)
		}
	},
	61: func(c *caseTest) {
		x, w := c.f32([]int{1, 4, 5}, row20...), c.f32([]int{2, 4, 3}, kernel24...).Transpose(0, 1)
		for _, w := range []*tensor.Tensor{w, w.Contiguous()} {
			y := x.ConvTranspose(w, tensor.Convolution{Groups: 2})
			require.Equal(c, tensor.Shape{1, 4, 7}, y.Shape())
			c.near(4, y, -1.5596, -1.8099, 2.0407, 4.8764, -.1743, -.735, -.7819, .7816, 3.8152, -.5926, 2.2515, -5.1844, -.3157, 1.4721,
				1.6295, .52, 6.2611, .7109, 2.6315, -1.8793, .7113, 1.0949, 1.0166, 1.7464, 2.4561, -.79, -.5119, .1488)
		}
	},
	62: func(c *caseTest) {
		x, w := c.f32([]int{1, 1, 4}, .4056, -.8689, -.0773, -1.563), c.f32([]int{1, 1, 3}, 1, 0, 0)
		c.near(4, x.Conv(w, tensor.Convolution{}), .4056, -.8689)
		c.near(4, x.Conv(w, tensor.Convolution{Padding: []int{1}}), 0, .4056, -.8689, -.0773)
	},
	63: func(c *caseTest) {
		x := c.f32([]int{1, 1, 3, 3}, .4056, -.8689, .6843, .2395, 1.2279, -.9287, -1.7030, .1370, .1866)
		c.near(4, x.Conv(tensor.Ones(c.d, tensor.F32, 1, 1, 3, 3), tensor.Convolution{}), -.6197)
	},
	64: func(c *caseTest) {
		x := c.f32([]int{1, 2, 3, 3}, .4056, -.8689, .6843, .2395, 1.2279, -.9287, -1.7030, .1370, .1866,
			.4145, -.6266, .3529, 2.2013, -.6836, .2477, 1.3127, -.6957, .3278)
		w := c.f32([]int{1, 2, 1, 1}, -.9259, 1.3017)
		want := []float64{.164, -.0111, -.1742, 2.6437, -2.0268, 1.1823, 3.2855, -1.0324, .2539}
		c.near(4, x.Conv(w, tensor.Convolution{}), want...)
		wide := x.Conv(w, tensor.Convolution{Padding: each(2, 2)})
		require.Equal(c, tensor.Shape{1, 1, 7, 7}, wide.Shape())
		c.near(4, wide.Index(tensor.Ellipsis, tensor.Slice(2, 5), tensor.Slice(2, 5)), want...)
		c.near(4, wide.Abs().Sum().Sub(x.Conv(w, tensor.Convolution{}).Abs().Sum()), 0)
		c.near(4, x.ConvTranspose(w.Transpose(0, 1), tensor.Convolution{}), want...)
		turned := x.Transpose(0, 1).ConvTranspose(w, tensor.Convolution{})
		require.Equal(c, tensor.Shape{2, 2, 3, 3}, turned.Shape())
		c.near(4, turned.Index(1, 0, 0), -.3838, .5802, -.3268)
	},
	65: func(c *caseTest) {
		y := c.f32([]int{1, 4, 4, 4}, channels64...).Conv(tensor.Ones(c.d, tensor.F32, 2, 4, 3, 3), tensor.Convolution{Padding: each(2, 1)})
		require.Equal(c, tensor.Shape{1, 2, 4, 4}, y.Shape())
		c.near(3, y.Index(0, 0, 0, 0), 1.4310)
		require.Equal(c, list[float32](c.T, y.Index(0, 0)), list[float32](c.T, y.Index(0, 1)))
	},
	66: caseConvGradients,
})

// caseConvGradients checks sums of squares and some of their gradients.
func caseConvGradients(c *caseTest) {
	x, w := c.variable([]int{1, 4, 5, 5}, image100...), c.variable([]int{2, 4, 3, 3}, kernel72...)
	loss := x.Conv(w, tensor.Convolution{}).Sqr().Sum()
	c.near(2, loss, 741.12)
	g := c.gradients(loss)
	c.near(2, g.Of(x).Index(0, 0, 0), 9.29, -2.84, -5.71, 3.38, -7.71)
	c.near(2, g.Of(w).Index(1, 3, 2), -9.98, 9.66, 29.6)
	two := tensor.Convolution{Stride: each(2, 2)}
	loss = x.Conv(w, two).Sqr().Sum()
	c.near(2, loss, 277.16)
	g = c.gradients(loss)
	c.near(2, g.Of(x).Index(0, 3), 23.54, 6.98, -24.52, .52, 4.87, 9.65, 6.18, 1.71, -25.23, -4.93, -54.99, -23.66, 3.19, -3.73, 18.58,
		-21.35, -10.39, -39.88, 28.73, -30.76, -9.13, 11.12, -14, -8.23, -11.25)
	c.near(2, g.Of(w).Index(0, 1), -16.04, 11.53, -16.38, 29.62, -16.32, -48.35, 57.5, 28.29, 25.81)
	loss = x.Index(tensor.All, tensor.All, tensor.SliceTo(4), tensor.SliceTo(4)).Conv(w, two).Sqr().Sum()
	c.near(2, loss, 21.12)
	g = c.gradients(loss)
	c.near(2, g.Of(x).Index(0, 0), 9.29, -7.03, 7.87, 0, 0, -1.8, -7.82, 5.9, 0, 0, -3.12, 4.49, 5.52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	c.near(2, g.Of(w).Index(0, 3), -4.72, 1.5, 4.72, 3.79, 4.04, 6.76, -4.6, 5.8, 6.93)

	x, w = c.variable([]int{1, 4, 7, 5}, image140...), c.variable([]int{4, 2, 3, 5}, kernel120...)
	loss = x.ConvTranspose(w, tensor.Convolution{Padding: each(2, 4), OutputPadding: each(2, 2), Stride: each(2, 3), Dilation: each(2, 3)}).Sqr().Sum()
	c.near(0, loss, 2904)
	g = c.gradients(loss)
	c.near(1, g.Of(x).Index(0, 0, 0), 32.3, -41.6, -24, 14.1, 17.6)
	c.near(1, g.Of(w).Index(3, 1, 2), 85, -18.3, 107, 28.3, -71.8)
	loss = x.ConvTranspose(w, tensor.Convolution{Padding: each(2, 1), OutputPadding: each(2, 1), Stride: each(2, 2)}).Sqr().Sum()
	c.near(0, loss, 3627)
	g = c.gradients(loss)
	c.near(1, g.Of(x).Index(0, 3, 0), -16.8, 38.5, 15.5, 26.6, 48.9)
	c.near(1, g.Of(w).Index(3, 1, 2), 53.5, -22.6, .8, -38.4, -2.5)
}

// The cases of pooling and resizing.
var _ = register(map[int]func(c *caseTest){
	67: func(c *caseTest) {
		x := c.f32([]int{1, 1, 4, 4}, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
		for _, x := range layouts(x) {
			c.is(x.AvgPool(tensor.Pooling{Kernel: each(2, 2)}), tensor.Shape{1, 1, 2, 2}, .5, 1, 1, 1)
		}
	},
	68: func(c *caseTest) {
		x := c.f32([]int{1, 1, 4, 4}, 1, 2, 1, 3, 0, 0, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1)
		for _, x := range layouts(x) {
			c.is(x.MaxPool(tensor.Pooling{Kernel: each(2, 2)}), tensor.Shape{1, 1, 2, 2}, 2, 3, 5, 1)
			c.is(x.Reshape(1, 1, 2, 8).MaxPool(tensor.Pooling{Kernel: each(2, 2)}), tensor.Shape{1, 1, 1, 4}, 2, 3, 5, 1)
		}
	},
	69: func(c *caseTest) {
		c.is(c.upTo(1, 1, 2, 3).UpsampleNearest(4, 6), tensor.Shape{1, 1, 4, 6},
			0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 3, 3, 4, 4, 5, 5)
		c.is(c.upTo(1, 2, 2).UpsampleNearest(4), tensor.Shape{1, 2, 4}, 0, 0, 1, 1, 2, 2, 3, 3)
	},
	70: func(c *caseTest) {
		y := c.upTo(1, 1, 4, 4).UpsampleBilinear(8, 8, false)
		row := []float64{0, .25, .75, 1.25, 1.75, 2.25, 2.75, 3}
		var want []float64
		for _, first := range []float64{0, 1, 3, 5, 7, 9, 11, 12} {
			for _, v := range row {
				want = append(want, first+v)
			}
		}
		c.near(4, y, want...)
		same := c.upTo(1, 1, 4, 4)
		c.is(same.UpsampleBilinear(4, 4, false), tensor.Shape{1, 1, 4, 4}, list[float32](c.T, same)...)
	},
	71: func(c *caseTest) {
		c.near(4, c.upTo(1, 1, 8, 8).UpsampleBilinear(4, 4, false),
			4.5, 6.5, 8.5, 10.5, 20.5, 22.5, 24.5, 26.5, 36.5, 38.5, 40.5, 42.5, 52.5, 54.5, 56.5, 58.5)
	},
	72: func(c *caseTest) {
		c.near(4, c.f32([]int{1, 1, 2, 2}, 1, 2, 3, 4).UpsampleBilinear(4, 4, true),
			1, 1.3333, 1.6667, 2, 1.6667, 2, 2.3333, 2.6667, 2.3333, 2.6667, 3, 3.3333, 3, 3.3333, 3.6667, 4)
	},
	73: func(c *caseTest) {
		c.near(6, c.f32([]int{1, 1, 1, 2}, 2, 8).UpsampleBilinear(3, 6, false), 2, 2, 4, 6, 8, 8, 2, 2, 4, 6, 8, 8, 2, 2, 4, 6, 8, 8)
		c.near(6, c.f32([]int{1, 1, 1, 1}, 5).UpsampleBilinear(3, 3, false), 5, 5, 5, 5, 5, 5, 5, 5, 5)
	},
	74: func(c *caseTest) {
		x := c.upTo(1, 1, 4, 4)
		require.Equal(c, tensor.Shape{1, 1, 6, 6}, x.UpsampleBilinearBy(1.5, 1.5, false).Shape())
		require.Equal(c, tensor.Shape{1, 1, 8, 12}, x.UpsampleBilinearBy(2, 3, false).Shape())
		require.Equal(c, tensor.Shape{1, 1, 10, 10}, c.upTo(1, 1, 2, 2).UpsampleBilinearBy(5, 5, false).Shape())
		twice := list[float32](c.T, x.UpsampleBilinear(8, 8, false))
		require.InDeltaSlice(c, twice, list[float32](c.T, x.UpsampleBilinearBy(2, 2, false)), 1e-6)
		require.ErrorIs(c, x.UpsampleBilinearBy(0, 1, false).Err(), tensor.ErrArgument)
	},
})
