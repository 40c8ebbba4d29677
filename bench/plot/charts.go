package main

// series is a colour of a chart: the column of its numbers, or those of the least and the most.
type series struct {
	name        string
	least, most string
}

func one(name, column string) series { return series{name, column, column} }

// chart is a figure.
type chart struct {
	file, table string
	title, axis string
	bars        bool // else dots on a logarithmic axis
	times       bool // which is of microseconds
	guide       float64
	series      []series
}

var charts = []chart{
	{
		file: "tensor-h200-copy.svg", table: "tensor-h200.tsv", bars: true, guide: 90,
		title: "Tensor operations on an H200", axis: "percent of the rate of a copy of F32, 4177 GB/s; the line is the goal of most, 90",
		series: []series{one("F32", "F32 copy"), one("BF16", "BF16 copy")},
	},
	{
		file: "tensor-h200-torch.svg", table: "tensor-h200.tsv", guide: 1,
		title: "Tensor operations on an H200, beside PyTorch", axis: "times the speed of PyTorch; right of the line Kiln is faster",
		series: []series{one("F32, eager", "F32 eager"), one("BF16, eager", "BF16 eager"), one("F32, torch.compile", "F32 compile"), one("BF16, torch.compile", "BF16 compile")},
	},
	{
		file: "start-h200.svg", table: "start-h200.tsv", times: true,
		title: "Launches and starts on an H200", axis: "time; left is faster",
		series: []series{one("Kiln", "Kiln"), one("bare driver", "driver"), one("NVRTC", "NVRTC"), one("PyTorch", "PyTorch"), one("Triton", "Triton")},
	},
	{
		file: "cpu-clang.svg", table: "cpu-clang.tsv", guide: 1,
		title: "Kernels on one thread of a CPU, beside clang -O3", axis: "time over that of C; left of the line Kiln is faster",
		series: []series{{"AVX-512", "AVX-512 least", "AVX-512 most"}, {"AVX2", "AVX2 least", "AVX2 most"}},
	},
	{
		file: "cpu-torch.svg", table: "cpu-torch.tsv", guide: 1,
		title: "Tensor operations on a CPU, beside PyTorch eager", axis: "times the speed of PyTorch; right of the line Kiln is faster",
		series: []series{{"1 thread", "1 thread least", "1 thread most"}, {"2 threads", "2 threads least", "2 threads most"}},
	},
}
