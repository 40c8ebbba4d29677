package imatrix_test

import (
	"bytes"
	"fmt"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

func Example() {
	m := &imatrix.Matrix{Datasets: []string{"wiki.txt"}, Chunks: 1, ChunkSize: 4}
	// Four rows of two columns were added up.
	err := m.Add(&imatrix.Entry{Name: "output.weight", Sums: []float32{8, 2}, Counts: []int64{4}})
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := imatrix.Write(&b, m); err != nil {
		panic(err)
	}
	m, err = imatrix.Read(file.FromBytes("imatrix.gguf", b.Bytes()))
	if err != nil {
		panic(err)
	}
	for _, e := range m.Entries() {
		fmt.Println(e.Name, e.Weights())
	}
	// Output: output.weight [2 0.5]
}

// A run of a network, whose activations are observed.
func ExampleCollector() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		panic(err)
	}
	defer dev.Close()
	net := nn.NewSequential(nn.NewLinear(2, 3), nn.NewLinear(3, 1))
	if err := nn.Init(net, nn.On{Device: dev, DType: tensor.F32}); err != nil {
		panic(err)
	}
	var c imatrix.Collector
	if _, err := nn.Observe(net, c.Observe); err != nil {
		panic(err)
	}
	y := net.Forward(tensor.From(dev, []float32{1, 2, 3, 4}, 2, 2))
	m, err := c.Matrix()
	if err != nil || y.Err() != nil {
		panic(err)
	}
	e, _ := m.Get("0.weight")
	fmt.Println(m.Len(), e.Sums, e.Counts)
	// Output: 2 [10 20] [2]
}
