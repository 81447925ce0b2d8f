/** Styles are imported for what the build does with them. */
declare module '*.css';
