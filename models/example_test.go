package models_test

import (
	"fmt"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// Published models are opened by OpenEncoder("all-MiniLM-L6-v2", models.Options{}), have a tokenizer,
// and are asked e.Embed("a text", "another"). This one has random weights.
func ExampleEncoder() {
	c, err := models.ParseConfig([]byte(`{"model_type": "bert", "vocab_size": 64, "hidden_size": 32,
		"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
		"max_position_embeddings": 128}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := models.NewEncoder(c, models.Options{Device: d})
	if err != nil {
		fmt.Println(err)
		return
	}
	texts := []*tokenizers.Encoding{{IDs: []int32{1, 5, 9, 2}}, {IDs: []int32{1, 7, 2}}}
	s := e.Encode(texts)
	fmt.Println(s.Hidden.Shape(), s.Of(1).Shape(), s.Pool(models.PoolCLS).Shape())

	e.Normalize = true
	v := e.EmbedTokens(texts)
	fmt.Println(v.Shape(), v.MatMul(v.T()).Shape())
	// Output:
	// [7, 32] [3, 32] [2, 32]
	// [2, 32] [2, 2]
}
