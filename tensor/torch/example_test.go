package torch_test

import (
	"fmt"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/torch"
)

func Example() {
	set, err := torch.Open("testdata/zip-2.pt", "model")
	if err != nil {
		panic(err)
	}
	defer set.Close()
	for e := range set.All() { // nothing is read yet
		fmt.Println(e.Name, e.Stored, e.DType, e.Shape())
	}
	e, err := set.Get("running_mean")
	if err != nil {
		panic(err)
	}
	values, err := file.Values[float32](e)
	fmt.Println(values, err)
	// Output:
	// weight torch.float32 f32 [1]
	// bias torch.float32 f32 [1]
	// running_mean torch.float32 f32 [1]
	// running_var torch.float32 f32 [1]
	// num_batches_tracked torch.int64 i64 []
	// [0.15] <nil>
}
