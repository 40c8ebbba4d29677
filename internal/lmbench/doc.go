// Package lmbench measures how fast language models take prompts and make tokens. Ids of prompts are
// made up, and the likeliest token comes next: no tokenizer is needed, and nothing is sampled.
package lmbench
