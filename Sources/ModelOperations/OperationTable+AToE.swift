extension OperationTable {
  /// The operations whose names begin with a to e.
  static let textAToE = """
    abs 6 T=N x:T
    acos 6 T=F x:T
    add 6 T=N x:T y:T
    affine 6 T=F x:T transform_matrix:T output_height!:int32 output_width!:int32
      sampling_mode!:string padding_mode!:string padding_value!:T coordinates_mode!:string
      align_corners!:bool
    argsort 6 T=N x:T axis?!:int32 ascending?!:bool
    asin 6 T=F x:T
    atan 6 T=F x:T
    atanh 6 T=F x:T
    avg_pool 6 T=F exclude_padding_from_average?!:bool x:T kernel_sizes!:int32 strides?!:int32
      pad_type!:string pad?!:int32 ceil_mode?!:bool
    band_part 6 T=A x:T lower?!:int32 upper?!:int32
    batch_norm 6 T=F x:T mean!:T variance!:T gamma?!:T beta?!:T epsilon?!:T
    batch_norm 8 T=F U=F x:T mean!:U variance!:U gamma?!:U beta?!:U epsilon?!:U
    batch_to_space 6 T=F x:T block_shape!:int32 crops!:int32
    cast 6 T=A x:T dtype!:string
    cast 8 T=W x:T dtype!:string
    ceil 6 T=F x:T
    clamped_relu 6 T=F x:T alpha!:T beta!:T
    clamped_relu 8 T=F U=F x:T alpha!:U beta!:U
    classify 6 probabilities:fp32 classes!:(list)
    clip 6 T=F x:T alpha!:T beta!:T
    concat 6 values:(tuple) axis!:int32 interleave?!:bool
    cond 6 pred:bool _true_fn:(block) _false_fn:(block)
    const 6 val!:(attribute)
    constexpr_affine_dequantize 7 SrcT=int8/uint8 ZeroPointT=fp32/int8/uint8 DstT=F
      quantized_data!:SrcT zero_point!:ZeroPointT scale!:DstT axis!:int32
    constexpr_blockwise_shift_scale 9 SrcT=C DstT=F OffsetT=C data!:SrcT scale!:DstT
      offset?!:OffsetT
    constexpr_cast 7 source_val!:fp16 output_dtype!:string
    constexpr_lut_to_dense 7 T=L indices!:uint8 lut!:T shape!:uint32
    constexpr_lut_to_dense 9 IndicesT=P T=L indices!:IndicesT lut!:T vector_axis?!:int32
    constexpr_lut_to_sparse 9 IndicesT=P T=L indices_mask!:uint1 indices_nonzero_data!:IndicesT
      lut!:T vector_axis?!:int32
    constexpr_sparse_blockwise_shift_scale 9 SrcT=C DstT=F OffsetT=C data_mask!:uint1
      nonzero_data!:SrcT scale!:DstT offset?!:OffsetT
    constexpr_sparse_to_dense 7 T=L nonzero_data!:T mask!:uint8 shape!:uint32
    constexpr_sparse_to_dense 9 T=C nonzero_data!:T mask!:uint1
    conv 6 T=F x:T weight:T bias?!:T strides?!:int32 pad_type?!:string pad?!:int32
      dilations?!:int32 groups?!:int32
    conv 8 T=F U=F x:T weight:U bias?:U strides?!:int32 pad_type?!:string pad?!:int32
      dilations?!:int32 groups?!:int32
    conv_quantized 6 T=F U=uint8 x:T weight:U bias?!:U quantization_type!:string nbits?!:int32
      quant_scale!:T quant_bias!:T strides?!:int32 pad_type?!:string pad?!:int32 dilations?!:int32
      groups?!:int32
    conv_transpose 6 T=F x:T weight!:T bias?!:T pad?!:int32 output_shape?!:int32 pad_type?!:string
      strides?!:int32 dilations?!:int32 groups?!:int32
    conv_transpose 8 T=F U=F x:T weight:U bias?:U pad?!:int32 output_shape?!:int32
      pad_type?!:string strides?!:int32 dilations?!:int32 groups?!:int32
    cos 6 T=F x:T
    cosh 6 T=F x:T
    crop 6 T=F x:T crop_height!:int32 crop_width!:int32
    crop_resize 6 T=F x:T roi:T target_height?!:int32 target_width?!:int32
      normalized_coordinates?!:bool spatial_scale?!:fp32 box_coordinate_mode?!:string
      sampling_mode?!:string
    crop_resize 7 T=F x:T roi:T target_height?!:int32 target_width?!:int32
      normalized_coordinates?!:bool spatial_scale?!:fp32 box_coordinate_mode?!:string
      sampling_mode?!:string pad_value?!:T
    crop_resize 8 T=F BOX_T=fp16/fp32/uint16 BOX_INDEX_T=int32/uint16 x:T boxes:BOX_T
      box_indices?:BOX_INDEX_T target_height?!:int32 target_width?!:int32
      normalized_coordinates?!:bool spatial_scale?!:fp32 box_coordinate_mode?!:string
      sampling_mode?!:string pad_value?!:T
    cumsum 6 T=N x:T axis?!:int32 exclusive?!:bool reverse?!:bool
    depth_to_space 6 T=F x:T block_size!:int32
    dequantize 8 SrcT=int8/uint8 DstT=F input:SrcT zero_point?!:SrcT scale!:DstT axis?!:int32
    einsum 6 values:(tuple) equation!:string
    elu 6 T=F x:T alpha!:T
    elu 8 T=F U=F x:T alpha!:U
    equal 6 T=N x:T y:T
    erf 6 T=F x:T
    exp 6 T=F x:T
    exp2 6 T=N x:T
    expand_dims 6 T=A x:T axes!:int32
    expand_dims 8 T=W x:T axes!:int32
    """
}
