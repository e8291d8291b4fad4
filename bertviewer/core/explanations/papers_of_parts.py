"""What the parts of a model are: papers on norms, networks, activations and vocabularies."""

from bertviewer.core.explanations.reference import Reference

_ARXIV = "arXiv"

PARTS = (
    Reference(
        "Dunn et al. 2008",
        "S. D. Dunn, L. M. Wahl, G. B. Gloor",
        2008,
        "Mutual information without the influence of phylogeny or entropy dramatically improves "
        "residue contact prediction",
        "Bioinformatics 24(3)",
        doi="10.1093/bioinformatics/btm604",
    ),
    Reference(
        "Nair & Hinton 2010",
        "V. Nair, G. E. Hinton",
        2010,
        "Rectified Linear Units Improve Restricted Boltzmann Machines",
        "ICML 2010",
    ),
    Reference(
        "Srivastava et al. 2014",
        "N. Srivastava, G. Hinton, A. Krizhevsky, I. Sutskever, R. Salakhutdinov",
        2014,
        "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
        "Journal of Machine Learning Research 15",
    ),
    Reference(
        "He et al. 2016",
        "K. He, X. Zhang, S. Ren, J. Sun",
        2016,
        "Deep Residual Learning for Image Recognition",
        "CVPR 2016",
        "1512.03385",
    ),
    Reference(
        "Sennrich et al. 2016",
        "R. Sennrich, B. Haddow, A. Birch",
        2016,
        "Neural Machine Translation of Rare Words with Subword Units",
        "ACL 2016",
        "1508.07909",
    ),
    Reference(
        "Hendrycks & Gimpel 2016",
        "D. Hendrycks, K. Gimpel",
        2016,
        "Gaussian Error Linear Units (GELUs)",
        _ARXIV,
        "1606.08415",
    ),
    Reference(
        "Ba et al. 2016",
        "J. L. Ba, J. R. Kiros, G. E. Hinton",
        2016,
        "Layer Normalization",
        _ARXIV,
        "1607.06450",
    ),
    Reference(
        "Wu et al. 2016",
        "Y. Wu, M. Schuster, Z. Chen and others",
        2016,
        "Google's Neural Machine Translation System: Bridging the Gap between Human and Machine "
        "Translation",
        _ARXIV,
        "1609.08144",
    ),
    Reference(
        "Press & Wolf 2017",
        "O. Press, L. Wolf",
        2017,
        "Using the Output Embedding to Improve Language Models",
        "EACL 2017",
        "1608.05859",
    ),
    Reference(
        "Shazeer et al. 2017",
        "N. Shazeer, A. Mirhoseini, K. Maziarz, A. Davis, Q. Le, G. Hinton, J. Dean",
        2017,
        "Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer",
        "ICLR 2017",
        "1701.06538",
    ),
    Reference(
        "Elfwing et al. 2018",
        "S. Elfwing, E. Uchibe, K. Doya",
        2018,
        "Sigmoid-Weighted Linear Units for Neural Network Function Approximation in Reinforcement "
        "Learning",
        "Neural Networks 107",
        "1702.03118",
    ),
    Reference(
        "Kudo & Richardson 2018",
        "T. Kudo, J. Richardson",
        2018,
        "SentencePiece: A simple and language independent subword tokenizer and detokenizer for "
        "Neural Text Processing",
        "EMNLP 2018",
        "1808.06226",
    ),
    Reference(
        "Zhang & Sennrich 2019",
        "B. Zhang, R. Sennrich",
        2019,
        "Root Mean Square Layer Normalization",
        "NeurIPS 2019",
        "1910.07467",
    ),
    Reference(
        "Xiong et al. 2020",
        "R. Xiong, Y. Yang, D. He and others",
        2020,
        "On Layer Normalization in the Transformer Architecture",
        "ICML 2020",
        "2002.04745",
    ),
    Reference(
        "Shazeer 2020",
        "N. Shazeer",
        2020,
        "GLU Variants Improve Transformer",
        _ARXIV,
        "2002.05202",
    ),
    Reference(
        "Shazeer et al. 2020",
        "N. Shazeer, Z. Lan, Y. Cheng, N. Ding, L. Hou",
        2020,
        "Talking-Heads Attention",
        _ARXIV,
        "2003.02436",
    ),
    Reference(
        "Wu et al. 2020",
        "H. Wu, P. Judd, X. Zhang, M. Isaev, P. Micikevicius",
        2020,
        "Integer Quantization for Deep Learning Inference: Principles and Empirical Evaluation",
        _ARXIV,
        "2004.09602",
    ),
    Reference(
        "Ainslie et al. 2023",
        "J. Ainslie, J. Lee-Thorp, M. de Jong, Y. Zemlyanskiy, F. Lebrón, S. Sanghai",
        2023,
        "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints",
        "EMNLP 2023",
        "2305.13245",
    ),
)
