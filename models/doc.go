// Package models loads language models as they are published and runs them: a folder with
// config.json, weights in files of safetensors or PyTorch and a tokenizer, or one GGUF file.
//
//	lm, err := models.Open("Qwen3-0.6B", models.Options{})
//	s := lm.NewSequence()
//	logits := lm.Step([]*models.Sequence{s}, [][]int32{prompt}) // (1, vocab), behind the prompt
//	next := logits.ArgMax(-1)
//
// # Model
//
// An [LM] is a network with weights, and what belongs to it: configuration, tokenizer and chat
// template. What has been fed to it is in a [Sequence], which keeps the keys and values of all
// layers. [LM.Step] feeds some sequences any number of ids each, a prompt or a part of one or the
// last token, and returns scores for the token behind the last. Which tokens are taken is no
// business of this package, see package generate.
//
// A model from sequences to sequences has an encoder, too: [LM.Encode] has it read sources, each of
// which makes sequences for the decoder.
//
// A model's architecture is a row of the table in architectures.go: its names in configurations and
// in GGUF files, what of it differs from Llama, and where its weights are in files. Llama and all
// that are like it are one network, [Decoder]; those from sequences to sequences are [Seq2Seq].
// [Architectures] lists what there is.
//
// # Encoders
//
// An [Encoder] makes vectors of texts, or scores: BERT and what followed it, and language models
// that are published for this. [Encoder.Embed] is what sentence-transformers calls encode, with the
// pooling, prompts and norm that are published with the weights; [Encoder.Encode] returns hidden
// states, [Encoder.Logits] scores of the vocabulary or of classes, and [Encoder.Score] how well
// texts answer a query. Texts of any lengths go together without padding. [Encoders] lists what
// there is.
//
// Weights in blocks of few bits are multiplied as they are: GGUF files of all types, and the
// quantized safetensors files that package quantized/checkpoint reads.
//
// # Files
//
// What a model is made of, from its files to a step:
//
//	open files config config_gguf weights mxfp4     files to a network with weights
//	architectures rows rows_…                       which architectures there are
//	adapter peft                                    LoRA and DoRA over the weights
//	decoder attention latent rope relative buckets  language models with attention
//	recurrent mamba griffin deltanet rwkv shortconv layers whose states do not grow
//	encoder head sentence neighbours                models that make vectors or scores
//	seq2seq                                         models with an encoder and a decoder
//	lm paged step graph                             sequences, their memory, steps
package models
