/** The mark of Parley: a bubble with room for two. */
export function Logo({ size }: { readonly size: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path fill="#1864ab" d="M6 3h20a4 4 0 0 1 4 4v11a4 4 0 0 1-4 4H15l-7 7v-7H6a4 4 0 0 1-4-4V7a4 4 0 0 1 4-4z" />
      <circle cx="11.5" cy="12.5" r="2.6" fill="#fff" />
      <circle cx="20.5" cy="12.5" r="2.6" fill="#fff" />
    </svg>
  );
}
